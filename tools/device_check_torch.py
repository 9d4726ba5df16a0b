"""What torch needs for the products that `device_check` times: full single precision, by the device's clock, medians."""

import statistics

import torch

RUNS = 11
SIZES = [(8192, 896, 3584), (8192, 3584, 896), (4096, 4096, 4096)]

torch.backends.cuda.matmul.allow_tf32 = False
for m, k, n in SIZES:
    a = torch.rand(m, k, device="cuda") * 2 - 1
    b = torch.rand(k, n, device="cuda") * 2 - 1
    times = []
    for run in range(2 * RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        a @ b
        end.record()
        end.synchronize()
        if run >= RUNS:
            times.append(begin.elapsed_time(end))
    median = statistics.median(times)
    print(f"torch {torch.__version__}, {m} x {k} x {n}: {median:.3f} ms, {2 * m * n * k / median / 1e9:.2f} TFLOP/s")
