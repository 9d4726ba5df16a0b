//! How long kernels take, by the device's own clock: for `examples/device_check.rs`, which holds them against the roofline.

use super::CudaBackend;
use super::buffer::Buffer;
use super::error::DeviceError;
use super::forward::FROM_ZERO;
use crate::kernels::{
    Add, GemmNn, GemmNt, GemmTn, LogSoftmax, LogitGradient, NO_FAULT, ObjectiveCode, TokenGradient,
};

/// Runs that are timed, after as many that are not.
const RUNS: usize = 11;

/// What one kernel, or a few in a row, took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// What was run, with its sizes.
    pub what: String,
    /// The median of several runs, in milliseconds.
    pub median_ms: f32,
    /// Floating-point operations, a fused one counting as two.
    pub operations: f64,
    /// Bytes that must be read or written at least.
    pub bytes: f64,
}

impl CudaBackend {
    /// Times the kernels that an update spends its time in, at the sizes of a larger policy.
    pub fn timings(&self) -> Result<Vec<Timing>, DeviceError> {
        let mut timings = vec![self.copy(1 << 28)?];
        for (m, n, k) in [(8192, 3584, 896), (8192, 896, 3584), (4096, 4096, 4096)] {
            timings.extend(self.products(m, n, k)?);
        }
        timings.push(self.objective(4096, 32_768)?);
        Ok(timings)
    }

    /// The median of several runs of what `work` hands over.
    fn median(&self, work: impl Fn() -> Result<(), DeviceError>) -> Result<f32, DeviceError> {
        for _ in 0..RUNS {
            self.device.time_ms(&work)?;
        }
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            times.push(self.device.time_ms(&work)?);
        }
        times.sort_by(f32::total_cmp);
        Ok(times[RUNS / 2])
    }

    /// Numbers between -1 and 1, none of them simple: zeros would be faster than what is real.
    fn numbers(&self, count: usize) -> Result<Buffer<f32>, DeviceError> {
        let number = |i: usize| (i.wrapping_mul(2_654_435_761) >> 8 & 0xffff) as f32 / 32_768.0 - 1.0;
        let values: Vec<f32> = (0..count).map(number).collect();
        Buffer::of(&self.device, "timings", &values)
    }

    fn copy(&self, count: usize) -> Result<Timing, DeviceError> {
        let (from, out) = (self.numbers(count)?, self.numbers(count)?);
        let launch = Add { from: from.address(), count: count as u64, out: out.address() };
        Ok(Timing {
            what: format!("add, {count} numbers"),
            median_ms: self.median(|| self.device.launch(&launch))?,
            operations: count as f64,
            bytes: 12.0 * count as f64,
        })
    }

    /// The three orientations.
    fn products(&self, m: u32, n: u32, k: u32) -> Result<[Timing; 3], DeviceError> {
        let (m_k, k_n) = (m as usize * k as usize, k as usize * n as usize);
        let (a, b, c) = (self.numbers(m_k)?, self.numbers(k_n)?, self.numbers(m as usize * n as usize)?);
        let (a, b, c) = (a.address(), b.address(), c.address());
        let (c_stride, start) = (n, FROM_ZERO);
        let nn = GemmNn { a, a_stride: k, b, b_stride: n, c, c_stride, m, n, k, start };
        let nt = GemmNt { a, a_stride: k, b, b_stride: k, c, c_stride, m, n, k, start };
        let tn = GemmTn { a, a_stride: m, b, b_stride: n, c, c_stride, m, n, k, start };
        let timing = |what: &str, median_ms| Timing {
            what: format!("{what}, {m} x {k} x {n}"),
            median_ms,
            operations: 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
            bytes: 4.0 * (m_k + k_n + m as usize * n as usize) as f64,
        };
        Ok([
            timing("gemm_nn", self.median(|| self.device.launch(&nn))?),
            timing("gemm_nt", self.median(|| self.device.launch(&nt))?),
            timing("gemm_tn", self.median(|| self.device.launch(&tn))?),
        ])
    }

    /// From logits to their gradients: three kernels, the logits read and written twice.
    fn objective(&self, rows: u32, vocab: u32) -> Result<Timing, DeviceError> {
        let device = &self.device;
        let count = rows as usize;
        let logits = self.numbers(count * vocab as usize)?;
        let tokens: Vec<u32> = (0..rows).map(|row| row * 7 % vocab).collect();
        let tokens = Buffer::of(device, "timings", &tokens)?;
        let column = |value: f32| Buffer::of(device, "timings", &vec![value; count]);
        let (rollout, advantages, weights) = (column(-9.0)?, column(1.0)?, column(1.0)?);
        let (log_probs, entropies, sums, gradients) =
            (column(0.0)?, column(0.0)?, column(0.0)?, column(0.0)?);
        let keep = Buffer::of(device, "timings", &vec![0_u32; count])?;
        let faults = Buffer::of(device, "timings", &vec![NO_FAULT; count])?;
        let halt = Buffer::of(device, "timings", &[0_u32])?;
        let median_ms = self.median(|| {
            device.launch(&LogSoftmax {
                logits: logits.address(),
                vocab,
                rows,
                tokens: tokens.address(),
                temperature: 1.0,
                log_probs: log_probs.address(),
                entropies: entropies.address(),
                sums: sums.address(),
                faults: faults.address(),
                halt: halt.address(),
                code: 0,
            })?;
            device.launch(&TokenGradient {
                log_probs: log_probs.address(),
                rollout_log_probs: rollout.address(),
                advantages: advantages.address(),
                weights: weights.address(),
                count: rows,
                objective: ObjectiveCode::DppoTv as u32,
                divisor: rows as f32,
                delta_low: 0.2,
                delta_high: 0.2,
                gradients: gradients.address(),
                keep: keep.address(),
                halt: halt.address(),
            })?;
            device.launch(&LogitGradient {
                logits: logits.address(),
                vocab,
                rows,
                tokens: tokens.address(),
                sums: sums.address(),
                gradients: gradients.address(),
                temperature: 1.0,
            })
        })?;
        let elements = f64::from(rows) * f64::from(vocab);
        Ok(Timing {
            what: format!("logits to DPPO gradients, {rows} x {vocab}"),
            median_ms,
            operations: 20.0 * elements,
            bytes: 16.0 * elements,
        })
    }
}
