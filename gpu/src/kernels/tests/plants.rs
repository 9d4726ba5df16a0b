//! The emulator sees faults: each is planted into a kernel as it is, and a check that holds without it must fail.

use super::device::{Check, Device, Failure, in_every_order, load, sources};
use super::{attention, embedding, gemm, loss, norm, optimiser};

/// A fault in the text of a kernel.
struct Plant {
    /// The kernels that are compiled.
    kernels: &'static str,
    /// The file that is changed.
    file: &'static str,
    text: &'static str,
    fault: &'static str,
    check: Check,
}

/// The first failure in any order; none is a failure of the emulator.
fn failure(plant: &Plant) -> Failure {
    let planted = sources().only(plant.kernels).plant(plant.file, plant.text, plant.fault);
    let emulator = load(&planted.unwrap_or_else(|error| panic!("{error}")));
    match in_every_order(&emulator, plant.check) {
        Err((_, failure)) => failure,
        Ok(()) => panic!("not seen: {:?} in place of {:?}", plant.fault, plant.text),
    }
}

fn gives_other_bits(plant: &Plant) {
    let failure = failure(plant);
    assert!(matches!(failure, Failure::Differs { .. }), "{failure}");
}

fn is_stopped(plant: &Plant, reason: &str) {
    let failure = failure(plant);
    assert!(matches!(failure, Failure::Stopped(_)) && failure.to_string().contains(reason), "{failure}");
}

/// A fault in the matrix products.
fn in_gemm(text: &'static str, fault: &'static str) -> Plant {
    let check: Check = gemm::nn;
    Plant { kernels: "gemm.cu", file: "gemm.cu", text, fault, check }
}

/// A fault in attention.
fn in_attention(text: &'static str, fault: &'static str) -> Plant {
    let check: Check = |device: &mut Device<'_>| {
        attention::forward(device)?;
        attention::backward(device)
    };
    Plant { kernels: "attention.cu", file: "attention.cu", text, fault, check }
}

#[test]
fn a_missing_barrier_before_shared_numbers_are_read_is_seen() {
    let staged = "stage<B_TURNED>(b_tile, b_share);\n        __syncthreads();";
    gives_other_bits(&in_gemm(staged, "stage<B_TURNED>(b_tile, b_share);"));
    let scored = "scores[j] = score * scale;\n    }\n    __syncthreads();";
    gives_other_bits(&in_attention(scored, "scores[j] = score * scale;\n    }"));
    let weighed = "scores[j] = exact_exp(scores[j] - row_largest);\n    __syncthreads();";
    gives_other_bits(&in_attention(weighed, "scores[j] = exact_exp(scores[j] - row_largest);"));
}

#[test]
fn a_missing_barrier_before_shared_numbers_are_overwritten_is_seen() {
    let used = "col, product.k - k);\n        }\n        __syncthreads();";
    gives_other_bits(&in_gemm(used, "col, product.k - k);\n        }"));
    let added = "state.shifted[i], weighted) : weighted;\n            }\n        }\n        __syncthreads();";
    let fault = "state.shifted[i], weighted) : weighted;\n            }\n        }";
    let check: Check = loss::log_softmax;
    gives_other_bits(&Plant { kernels: "loss.cu", file: "loss.cu", text: added, fault, check });
    let check: Check = optimiser::norm;
    let text = "sum = sum + (double)tile[i] * (double)tile[i];\n        }\n        __syncthreads();";
    let fault = "sum = sum + (double)tile[i] * (double)tile[i];\n        }";
    gives_other_bits(&Plant { kernels: "optimiser.cu", file: "optimiser.cu", text, fault, check });
}

#[test]
fn a_reordered_sum_is_seen() {
    let ascending = "for (unsigned inner = 0; inner < depth; inner++) {";
    gives_other_bits(&in_gemm(ascending, "for (unsigned inner = depth; inner-- > 0;) {"));
    let rows = "for (unsigned other = row; other < ends[row]; other++) {";
    gives_other_bits(&in_attention(rows, "for (unsigned other = ends[row]; other-- > row;) {"));
    let check: Check = embedding::gradient;
    let text = "for (unsigned i = first; i < end; i++)";
    let fault = "for (unsigned i = end; i-- > first;)";
    gives_other_bits(&Plant { kernels: "embedding.cu", file: "embedding.cu", text, fault, check });
    let check: Check = norm::norm;
    let text = "for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {\n        value = value";
    let fault = "for (unsigned distance = 1; distance < LANES; distance *= 2) {\n        value = value";
    gives_other_bits(&Plant { kernels: "norm.cu", file: "lanes.cuh", text, fault, check });
}

#[test]
fn a_step_fused_or_not_fused_against_the_definition_is_seen() {
    let fused = "acc[i][j] = fmaf(left[i], right[j], acc[i][j]);";
    gives_other_bits(&in_gemm(fused, "acc[i][j] = left[i] * right[j] + acc[i][j];"));
    let check: Check = optimiser::adamw;
    let text = "first[i] * beta1 + gradient * (1.0f - beta1)";
    let fault = "fmaf(first[i], beta1, gradient * (1.0f - beta1))";
    gives_other_bits(&Plant { kernels: "optimiser.cu", file: "optimiser.cu", text, fault, check });
}

#[test]
fn a_chain_with_padding_is_seen() {
    let exact = "advance(acc, a_tile, b_tile, row, col, product.k - k);";
    gives_other_bits(&in_gemm(exact, "advance(acc, a_tile, b_tile, row, col, DEPTH);"));
}

#[test]
fn an_access_outside_of_memory_stops_the_kernel() {
    let check: Check = embedding::gradient;
    let text = "for (unsigned i = first; i < end; i++)";
    let fault = "for (unsigned i = first; i <= end; i++)";
    let beyond = Plant { kernels: "embedding.cu", file: "embedding.cu", text, fault, check };
    is_stopped(&beyond, "embed_gradient: an access outside of memory by thread (");
    let guarded = "if (first + place < outer && k + inner < end) {";
    is_stopped(&in_gemm(guarded, "if (k + inner < end) {"), "an access outside of memory");
    let last = "query[c] = from[c];";
    is_stopped(&in_attention(last, "query[c + 1] = from[c];"), "attend: an access outside of memory");
}

#[test]
fn an_index_outside_of_a_shared_array_stops_the_kernel() {
    let text = "left[i] = a_tile.rows[inner][row + i];";
    is_stopped(
        &in_gemm(text, "left[i] = a_tile.rows[inner][row + i * SIDE];"),
        "an index outside of its array",
    );
}

#[test]
fn a_barrier_that_not_all_threads_reach_stops_the_kernel() {
    let text = "col, product.k - k);\n        }\n        __syncthreads();";
    let fault = "col, product.k - k);\n        }\n        if (row < 8) __syncthreads();";
    is_stopped(&in_gemm(text, fault), "divergent barrier: thread (");
}

#[test]
fn a_warp_operation_that_not_the_whole_warp_reaches_stops_the_kernel() {
    let check: Check = norm::norm;
    let text = "    const float mean = lanes_sum(sum) / (float)width;\n    if (!present) return;";
    let fault = "    if (!present) return;\n    const float mean = lanes_sum(sum) / (float)width;";
    let early = Plant { kernels: "norm.cu", file: "norm.cu", text, fault, check };
    is_stopped(&early, "divergent warp operation: thread (");
    let text = "#define WHOLE_WARP 0xffffffffu";
    let fault = "#define WHOLE_WARP 0x0000ffffu";
    let partial = Plant { kernels: "norm.cu", file: "lanes.cuh", text, fault, check };
    is_stopped(&partial, "a warp operation of a part of the warp");
}
