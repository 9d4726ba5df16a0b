// Reductions over sixteen lanes: half a warp is one vector of gpu/src/vector, thread l of it is lane l.
//
// A lane's own sum runs over the elements l, l + 16, l + 32, ... in this order; these functions then go down the one tree:
// lane l takes lane l + 8, then l + 4, l + 2, l + 1. All threads of the warp must call them together; both halves get
// their own result, in every lane. Checked through the kernels that use them.
#pragma once

#include "prelude.cuh"

#define LANES 16u
#define WHOLE_WARP 0xffffffffu

template <class T>
DEVICE T lanes_sum(T value) {
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {
        value = value + __shfl_down_sync(WHOLE_WARP, value, distance, LANES);
    }
    return __shfl_sync(WHOLE_WARP, value, 0, LANES);
}

// Of equal values the earlier lane's.
DEVICE float lanes_largest(float value) {
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {
        const float other = __shfl_down_sync(WHOLE_WARP, value, distance, LANES);
        value = other > value ? other : value;
    }
    return __shfl_sync(WHOLE_WARP, value, 0, LANES);
}
