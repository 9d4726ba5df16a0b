//! The replay sees faults: each is planted into a kernel's PTX as a compiler could have made it, and a check that holds
//! without it must fail.

use super::device::{Check, Device, Failure, replayed};
use super::replay::Replay;
use super::{attention, elementwise, embedding, gemm, loss, norm, optimiser};
use crate::cuda::ptx::FILES;
use tadpole_emulator::ptx::{Access, Cause, ReplayError};

/// A kernel and a check that runs it.
#[derive(Clone, Copy)]
struct Kernel {
    source: &'static str,
    entry: &'static str,
    check: Check,
}

const GEMM: Kernel = Kernel { source: "gemm.cu", entry: "gemm_nn", check: gemm::nn };
const NORM: Kernel = Kernel { source: "norm.cu", entry: "rms_norm", check: norm::norm };
const ADAMW: Kernel = Kernel { source: "optimiser.cu", entry: "adamw", check: optimiser::adamw };
const ADD: Kernel = Kernel { source: "elementwise.cu", entry: "add", check: elementwise::add };
const EMBED_GRADIENT: Kernel =
    Kernel { source: "embedding.cu", entry: "embed_gradient", check: embedding::gradient };

/// Every kernel with barriers.
const WITH_BARRIERS: [Kernel; 7] = [
    GEMM,
    Kernel { source: "gemm.cu", entry: "gemm_nt", check: gemm::nt },
    Kernel { source: "gemm.cu", entry: "gemm_tn", check: gemm::tn },
    Kernel { source: "attention.cu", entry: "attend", check: attention::forward },
    Kernel { source: "attention.cu", entry: "attend_backward", check: attention::backward },
    Kernel { source: "loss.cu", entry: "log_softmax", check: log_softmax },
    Kernel { source: "optimiser.cu", entry: "squares", check: optimiser::norm },
];

/// A row that is refused shows the barrier behind the state that the block shares.
fn log_softmax(device: &mut Device<'_>) -> Result<(), Failure> {
    loss::log_softmax(device)?;
    loss::refusals(device)
}

/// The lines of one kernel.
type Lines = Vec<String>;

impl Kernel {
    /// The first failure of the kernel with other lines, in any order; none is a failure of the replay.
    fn failure(self, change: impl FnOnce(&mut Lines)) -> Failure {
        let replay = Replay::changed(self.source, |text| self.edited(text, change));
        match replayed(&replay, self.check) {
            Err((_, failure)) => failure,
            Ok(()) => panic!("{}: the fault is not seen", self.entry),
        }
    }

    fn edited(self, text: &str, change: impl FnOnce(&mut Lines)) -> String {
        let [before, own, behind] = self.cut(text);
        let lines: Lines = own.lines().map(str::to_owned).collect();
        let mut changed = lines.clone();
        change(&mut changed);
        assert_ne!(changed, lines, "{}: nothing is planted", self.entry);
        format!("{before}{}{behind}", changed.join("\n"))
    }

    /// How often an instruction occurs.
    fn count(self, opcode: &str) -> usize {
        let file = FILES.iter().find(|file| file.source == self.source).unwrap();
        let lines: Lines = self.cut(file.text)[1].lines().map(str::to_owned).collect();
        places(&lines, opcode).len()
    }

    /// The text before the kernel's own, its own, and what is behind it.
    fn cut(self, text: &str) -> [&str; 3] {
        let start = text.find(&format!(".entry {}(", self.entry)).unwrap();
        let end = start + text[start..].find("\n}").unwrap();
        [&text[..start], &text[start..end], &text[end..]]
    }
}

/// The lines with an instruction.
fn places(lines: &Lines, opcode: &str) -> Vec<usize> {
    let found = lines.iter().enumerate().filter(|(_, line)| operation(line).0 == opcode);
    found.map(|(place, _)| place).collect()
}

/// Opcode and operands of a line; guards are left out.
fn operation(line: &str) -> (&str, Vec<&str>) {
    let line = line.trim().trim_end_matches(';');
    let line = if line.starts_with('@') { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
    let (opcode, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (opcode, operands.split(',').map(str::trim).collect())
}

/// Gives the kernel a register `%planted0`.
fn declare(lines: &mut Lines, kind: &str) {
    let body = lines.iter().position(|line| line == "{").unwrap();
    lines.insert(body + 1, format!(".reg {kind} %planted<1>;"));
}

fn gives_other_bits(kernel: Kernel, change: impl FnOnce(&mut Lines)) {
    let failure = kernel.failure(change);
    assert!(matches!(failure, Failure::Differs { .. }), "{}: {failure}", kernel.entry);
}

fn is_stopped(kernel: Kernel, cause: Cause, change: impl FnOnce(&mut Lines)) {
    match kernel.failure(change) {
        Failure::Replay(ReplayError::Thread { fault, .. }) if fault.cause == cause => {}
        failure => panic!("{}: {failure}", kernel.entry),
    }
}

fn diverges(kernel: Kernel, at: &str, change: impl FnOnce(&mut Lines)) {
    match kernel.failure(change) {
        Failure::Replay(ReplayError::Divergent { what, .. }) if what == at => {}
        failure => panic!("{}: {failure}", kernel.entry),
    }
}

#[test]
fn every_barrier_that_is_missing_is_seen() {
    let mut planted = 0;
    for kernel in WITH_BARRIERS {
        for nth in 0..kernel.count("bar.sync") {
            gives_other_bits(kernel, |lines| {
                lines.remove(places(lines, "bar.sync")[nth]);
            });
            planted += 1;
        }
    }
    let all: usize = FILES.iter().map(|file| file.text.matches("bar.sync").count()).sum();
    assert_eq!(planted, all, "a kernel with barriers is not among those");
}

#[test]
fn a_product_and_a_sum_contracted_to_a_fused_step_are_seen() {
    gives_other_bits(ADAMW, |lines| {
        // The sum that takes the product of the line before it.
        for place in places(lines, "add.rn.f32") {
            let ("mul.rn.f32", product) = operation(&lines[place - 1]) else { continue };
            let (_, sum) = operation(&lines[place]);
            assert!(sum[1..].contains(&product[0]), "{sum:?} adds {product:?}");
            let other = if sum[1] == product[0] { sum[2] } else { sum[1] };
            lines[place] = format!("fma.rn.f32 {}, {}, {}, {other};", sum[0], product[1], product[2]);
            return;
        }
    });
}

#[test]
fn a_fused_step_taken_apart_is_seen() {
    gives_other_bits(GEMM, |lines| {
        let place = places(lines, "fma.rn.f32")[0];
        let (_, step) = operation(&lines[place]);
        let (to, a, b, c) = (step[0], step[1], step[2], step[3]);
        lines[place] = format!("mul.rn.f32 %planted0, {a}, {b}; add.rn.f32 {to}, %planted0, {c};");
        declare(lines, ".f32");
    });
}

#[test]
fn a_reordered_sum_is_seen() {
    // The tree of sixteen lanes from its leaves up: distances 1, 2, 4, 8 in place of 8, 4, 2, 1.
    gives_other_bits(NORM, |lines| {
        let distances: Vec<usize> =
            places(lines, "mov.u32").into_iter().filter(|&place| distance(&lines[place]).is_some()).collect();
        for place in distances {
            let (_, operands) = operation(&lines[place]);
            let turned = 8 / distance(&lines[place]).unwrap();
            lines[place] = format!("mov.u32 {}, {turned};", operands[0]);
        }
    });
    // A chain that adds its last two terms to each other first.
    gives_other_bits(EMBED_GRADIENT, |lines| {
        let sums = places(lines, "add.rn.f32");
        let [before, last] = [sums[sums.len() - 2], sums[sums.len() - 1]];
        let (_, first) = operation(&lines[before]);
        let (_, second) = operation(&lines[last]);
        assert_eq!(first[0], second[1], "one chain");
        let (pair, whole) = (first[0], second[0]);
        lines[last] = format!(
            "add.rn.f32 {pair}, {}, {}; add.rn.f32 {whole}, {}, {pair};",
            first[2], second[2], first[1]
        );
    });
}

fn distance(line: &str) -> Option<u32> {
    operation(line).1.get(1)?.parse().ok().filter(|distance| [1, 2, 4, 8].contains(distance))
}

#[test]
fn an_access_outside_of_memory_stops_the_kernel() {
    // Threads beyond the last number do not leave.
    is_stopped(ADD, Cause::Access(Access::Outside), |lines| {
        let guarded = lines.iter().position(|line| line.trim().starts_with("@%p1 bra")).unwrap();
        lines.remove(guarded);
    });
    // Every number is taken from the place in front of it.
    is_stopped(ADD, Cause::Access(Access::Outside), |lines| {
        let place = places(lines, "ld.global.f32")[0];
        lines[place] = lines[place].replace(']', "+-4]");
    });
}

#[test]
fn a_vector_that_is_not_aligned_stops_the_kernel() {
    is_stopped(GEMM, Cause::Access(Access::Misaligned), |lines| {
        let vectors = places(lines, "ld.shared.v4.f32");
        let place = vectors.into_iter().find(|&place| !lines[place].contains('+')).unwrap();
        lines[place] = lines[place].replace(']', "+4]");
    });
}

#[test]
fn a_barrier_that_not_all_threads_reach_stops_the_kernel() {
    diverges(GEMM, "barrier", |lines| {
        let place = places(lines, "bar.sync")[0];
        lines[place] = "setp.lt.u32 %planted0, %tid.x, 8; @%planted0 bar.sync 0;".to_owned();
        declare(lines, ".pred");
    });
}

#[test]
fn a_shuffle_that_not_the_whole_warp_reaches_stops_the_kernel() {
    // Rows that are not there leave before the sum.
    diverges(NORM, "shuffle", |lines| {
        let last = lines.iter().rfind(|line| line.starts_with('$')).unwrap().trim_end_matches(':').to_owned();
        let place = places(lines, "bra")[0];
        let (guard, _) = lines[place].split_once("bra").unwrap();
        lines[place] = format!("{guard}bra {last};");
    });
    is_stopped(NORM, Cause::PartialWarp, |lines| {
        let place = places(lines, "mov.u32").into_iter().find(|&place| operation(&lines[place]).1[1] == "-1");
        let place = place.unwrap();
        lines[place] = lines[place].replace("-1", "65535");
    });
}
