//! What a replay promises: exactly the PTX that is written, every order, poisoned memory and registers, nothing guessed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use tadpole_emulator::ptx::{Memory, Module, ReplayError};
use tadpole_emulator::{Call, Order};

const HEADER: &str = ".version 9.0\n.target sm_80\n.address_size 64\n";

/// A module with one kernel that takes two addresses, with registers of every kind.
fn text(body: &str) -> String {
    format!(
        "{HEADER}.extern .shared .align 4 .b8 dynamic[];
.visible .entry kernel(.param .u64 kernel_param_0, .param .u64 kernel_param_1)
.maxntid 64, 1, 1
{{
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .f64 %fd<4>;
.shared .align 4 .b8 tile[128];
.shared .align 4 .f32 single;
{body}
}}
"
    )
}

/// Loads the first address, and this thread's place behind it, into `%rd1` and `%rd2`; its number into `%r1`.
const OWN_PLACE: &str = "ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd1, %rd2;";

/// Runs a kernel on 64 threads; what is in its first argument's memory then.
fn ran(body: &str, order: Order) -> Result<Vec<u32>, ReplayError> {
    let module = Module::parse(&text(body)).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Memory::global();
    let [out, counter] = [memory.allocate(4 * 64), memory.allocate(4)];
    memory.piece_mut(counter).unwrap().fill(0);
    module.launch(&call(&[out.to_ne_bytes(), counter.to_ne_bytes()]), order, &mut memory)?;
    let bytes = memory.piece(out).unwrap();
    Ok(bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn call(arguments: &[[u8; 8]]) -> Call<'_> {
    Call { name: "kernel", grid: [1, 1, 1], block: [64, 1, 1], shared_bytes: 128, arguments }
}

fn stopped(body: &str) -> String {
    ran(body, Order::Forward).unwrap_err().to_string()
}

/// Why a kernel is not read, without the line.
fn refused(body: &str) -> String {
    Module::parse(&text(body)).unwrap_err().reason.to_string()
}

#[test]
fn threads_run_forward_in_reverse_and_shuffled_by_a_seed() {
    let body = format!(
        "{OWN_PLACE} ld.param.u64 %rd3, [kernel_param_1]; ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd2], %r2;
        add.s32 %r2, %r2, 1; st.global.u32 [%rd3], %r2; ret;"
    );
    let ascending: Vec<u32> = (0..64).collect();
    assert_eq!(ran(&body, Order::Forward), Ok(ascending.clone()));
    assert!(ran(&body, Order::Reverse).unwrap().into_iter().rev().eq(0..64));
    let shuffled = ran(&body, Order::Shuffled(7)).unwrap();
    assert_eq!(ran(&body, Order::Shuffled(7)), Ok(shuffled.clone()));
    assert_ne!(ran(&body, Order::Shuffled(8)), Ok(shuffled.clone()));
    let mut sorted = shuffled;
    sorted.sort_unstable();
    assert_eq!(sorted, ascending);
}

#[test]
fn what_nobody_wrote_is_nan_in_memory_and_in_registers() {
    for source in ["ld.shared.f32 %f1, [tile+4];", "ld.shared.f32 %f1, [dynamic];", "mov.f32 %f1, %f2;", ""] {
        let body = format!("{OWN_PLACE} {source} st.global.f32 [%rd2], %f1; ret;");
        let found = ran(&body, Order::Forward).unwrap();
        assert!(found.iter().all(|&bits| f32::from_bits(bits).is_nan()), "{source}");
    }
    let undecided = stopped("@%p1 ret; ret;");
    assert!(
        undecided.contains("a predicate without a value by thread [0, 0, 0] of block [0, 0, 0]"),
        "{undecided}"
    );
    for passes_it_on in
        ["not.pred %p2, %p1;", "setp.le.u32 %p2, 1, 1; and.pred %p2, %p2, %p1;", "selp.b32 %r1, 1, 2, %p1;"]
    {
        let stopped = stopped(&format!("{passes_it_on} ret;"));
        assert!(stopped.contains("a predicate without a value"), "{passes_it_on} {stopped}");
    }
}

#[test]
fn threads_see_what_others_wrote_before_a_barrier() {
    let body = format!(
        "{OWN_PLACE} mov.u64 %rd3, dynamic; shl.b32 %r2, %r1, 2; cvt.u64.u32 %rd4, %r2; add.s64 %rd4, %rd3, %rd4;
        and.b32 %r3, %r1, 31; setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%rd4], %r1; bar.sync 0;
        shl.b32 %r3, %r3, 2; cvt.u64.u32 %rd4, %r3; sub.s64 %rd4, %rd3, %rd4; ld.shared.u32 %r4, [%rd4+124];
        st.global.u32 [%rd2], %r4; ret;"
    );
    for order in [Order::Forward, Order::Reverse, Order::Shuffled(1)] {
        assert!(ran(&body, order).unwrap().into_iter().eq((0..32).rev().chain((0..32).rev())), "{order:?}");
    }
}

#[test]
fn lanes_exchange_and_are_told_whether_they_got_anothers() {
    let body = format!(
        "{OWN_PLACE} shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1; @!%p1 mov.u32 %r2, 99;
        st.global.u32 [%rd2], %r2; ret;"
    );
    let expected = (0..64).map(|thread| if thread % 32 < 29 { thread + 3 } else { 99 });
    assert!(ran(&body, Order::Shuffled(2)).unwrap().into_iter().eq(expected));
}

#[test]
fn a_stray_or_misaligned_access_stops_the_kernel_with_its_line() {
    let strays = [
        "st.global.u32 [%rd2+4], %r1;",
        "ld.global.u32 %r2, [%rd1+-4];",
        "ld.shared.u32 %r2, [tile+128];",
        "st.shared.u32 [single+4], %r1;",
        "ld.shared.u32 %r2, [dynamic+128];",
        // Of another kind of memory.
        "mov.u64 %rd3, tile; ld.global.u32 %r2, [%rd3];",
        "ld.shared.u32 %r2, [%rd1];",
    ];
    for stray in strays {
        let text = stopped(&format!("{OWN_PLACE}\n{stray} ret;"));
        assert!(
            text.starts_with("kernel: line 13: an access outside of memory by thread ["),
            "{stray}: {text}"
        );
    }
    for crooked in ["ld.global.u32 %r2, [%rd1+2];", "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile];"] {
        assert!(stopped(&format!("{OWN_PLACE} {crooked} ret;")).contains("a misaligned access"), "{crooked}");
    }
}

#[test]
fn what_has_no_one_meaning_stops_the_kernel() {
    assert!(stopped("mov.u32 %r1, 0; div.u32 %r2, 7, %r1; ret;").contains("a division by zero"));
    assert!(
        stopped("shfl.sync.idx.b32 %r2|%p1, 1, 0, 31, 65535; ret;")
            .contains("a shuffle of a part of the warp")
    );
    assert!(stopped("$again: bra.uni $again; ret;").contains("no end after 16777216 instructions"));
    let waits = stopped("$again: bar.sync 0; bra.uni $again; ret;");
    assert!(waits.contains("no end after 16777216 instructions"), "{waits}");
}

#[test]
fn threads_that_have_to_arrive_together_do_or_the_kernel_is_stopped() {
    let late = stopped("setp.lt.u32 %p1, %tid.x, 40; @%p1 bra $end;\nbar.sync 0;\n$end: ret;");
    let expected =
        "kernel: divergent barrier: thread [40, 0, 0] waits in line 12, thread [0, 0, 0] has ended";
    assert_eq!(late, expected);
    let apart = stopped("setp.lt.u32 %p1, %tid.x, 40; @%p1 bra $b;\nbar.sync 0;\n$b:\nbar.sync 0; ret;");
    assert!(
        apart.contains(
            "divergent barrier: thread [0, 0, 0] waits in line 14, thread [40, 0, 0] waits in line 12"
        ),
        "{apart}"
    );
    let early = stopped("setp.eq.s32 %p1, %tid.x, 5; @%p1 ret; shfl.sync.idx.b32 %r2, 1, 0, 31, -1; ret;");
    assert!(
        early.contains("divergent shuffle: thread [0, 0, 0] waits in line 11, thread [5, 0, 0] has ended"),
        "{early}"
    );
}

#[test]
fn a_launch_that_no_device_would_take_is_refused() {
    let module = Module::parse(&text("ret;")).unwrap();
    let arguments = [[0; 8]; 2];
    let refused =
        |call: Call<'_>| module.launch(&call, Order::Forward, &mut Memory::global()).unwrap_err().to_string();
    let good = call(&arguments);
    assert_eq!(module.launch(&good, Order::Forward, &mut Memory::global()), Ok(()));
    assert_eq!(refused(Call { name: "other", ..good }), "other: there is no kernel of this name");
    assert_eq!(refused(call(&arguments[..1])), "kernel: 1 arguments for 2 parameters");
    assert_eq!(refused(Call { grid: [1, 0, 1], ..good }), "kernel: the grid is empty");
    let odd = "kernel: a block of 33 threads is not a multiple of 32 up to 1,024";
    assert_eq!(refused(Call { block: [33, 1, 1], ..good }), odd);
    let large = "kernel: a block of [128, 1, 1] where [64, 1, 1] is the largest";
    assert_eq!(refused(Call { block: [128, 1, 1], ..good }), large);
    let much = "kernel: more dynamic shared memory than a device has";
    assert_eq!(refused(Call { shared_bytes: 1 << 20, ..good }), much);
}

#[test]
fn an_instruction_outside_of_the_subset_is_refused_by_name() {
    let opcodes = [
        "add.f32 %f1, %f2, %f3;",
        "add.rn.ftz.f32 %f1, %f2, %f3;",
        "ex2.approx.f32 %f1, %f2;",
        "div.full.f32 %f1, %f2, %f3;",
        "mad.rn.f32 %f1, %f2, %f3, %f4;",
        "ld.local.f32 %f1, [%rd1];",
        "ld.global.nc.f32 %f1, [%rd1];",
        "ld.global.s16 %r1, [%rd1];",
        "ld.volatile.shared.f32 %f1, [%rd1];",
        "st.global.v2.f32 [%rd1], {%f1, %f2};",
        "atom.global.add.f32 %f1, [%rd1], %f2;",
        "red.global.or.b32 [%rd1], 1;",
        "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
        "vote.sync.all.pred %p1, %p2, -1;",
        "bar.sync 1;",
        "bar.red.popc.u32 %r1, 0, %p1;",
        "call.uni function;",
        "setp.lt.and.u32 %p1, %r1, %r2, %p2;",
        "@%p1 bra.uni $end;",
    ];
    for written in opcodes {
        let opcode = written.split_whitespace().find(|word| !word.starts_with('@')).unwrap();
        let expected = format!("`{opcode}` is not among the instructions that are replayed");
        assert_eq!(refused(&format!("{written} $end: ret;")), expected);
    }
}

#[test]
fn an_operand_of_another_type_or_kind_is_refused() {
    let operands = [
        ("add.rn.f32 %f1, %f2, %rd1;", "`add.rn.f32` does not take `%rd1`"),
        ("add.rn.f32 %f1, %f2, 1;", "`add.rn.f32` does not take `1`"),
        ("add.s32 %rd1, %r1, %r2;", "`add.s32` does not take `%rd1`"),
        ("add.s32 %r1, %r2, 4294967296;", "`add.s32` does not take `4294967296`"),
        ("mov.b32 %r1, %fd1;", "`mov.b32` does not take `%fd1`"),
        ("and.pred %p1, %p2, %r1;", "`and.pred` does not take `%r1`"),
        ("ld.global.f32 %r1, [%r2];", "`ld.global.f32` does not take `%r2`"),
        ("ld.global.u32 %rs1, [%rd1];", "`ld.global.u32` does not take `%rs1`"),
        ("ld.global.f32 %f1, [tile];", "`ld.global.f32` does not take `[tile+0]`"),
        ("ld.param.u32 %r1, [kernel_param_0];", "`ld.param.u32` does not take `kernel_param_0`"),
        ("ld.param.u64 %rd1, [kernel_param_0+4];", "`ld.param.u64` does not take `[kernel_param_0+4]`"),
        ("add.s32 1, %r1, %r2;", "`add.s32` does not take `1`"),
        ("mov.u64 %rd1, %tid.x;", "`mov.u64` does not take `%tid.x`"),
        ("selp.f32 %f1, %f2, %f3, %r1;", "`selp.f32` does not take `%r1`"),
        ("add.s32 %r1, %r2;", "`add.s32` takes 3 operands, not 2"),
        ("mov.b64 {%r1}, %rd1;", "`mov.b64` takes 2 operands, not 1"),
    ];
    for (written, reason) in operands {
        assert_eq!(refused(&format!("{written} ret;")), reason, "{written}");
    }
}

#[test]
fn a_name_that_is_not_there_or_there_twice_is_refused() {
    assert_eq!(refused("mov.u32 %r8, 0; ret;"), "there is no register `%r8`");
    assert_eq!(refused("mov.u32 %r1, %laneid; ret;"), "there is no register `%laneid`");
    assert_eq!(refused("ld.param.u64 %rd1, [other]; ret;"), "there is no parameter `other`");
    assert_eq!(refused("bra $nowhere; ret;"), "there is no label before an instruction `$nowhere`");
    assert_eq!(refused("bra $end; ret; $end:"), "there is no label before an instruction `$end`");
    assert_eq!(refused("$a: $a: ret;"), "`$a` is declared twice");
    assert_eq!(refused(".reg .f32 %r<2>; ret;"), "`%r` is declared twice");
    assert_eq!(refused(".shared .align 4 .f32 single; ret;"), "`single` is declared twice");
    let twice = format!("{}.visible .entry kernel() {{ ret; }}\n", text("ret;"));
    assert_eq!(Module::parse(&twice).unwrap_err().reason.to_string(), "`kernel` is declared twice");
}

#[test]
fn a_text_that_ends_early_or_runs_on_is_refused() {
    assert_eq!(refused("mov.u32 %r1, 0;"), "`kernel` does not end with a return or a branch");
    assert_eq!(refused("@%p1 ret;"), "`kernel` does not end with a return or a branch");
    assert_eq!(refused("add.s32 %r1 %r2; ret;"), "found `%r2` where a comma is wanted");
    let cut = text("ret;");
    for end in (0..cut.len()).step_by(7).filter(|&end| HEADER.len() < end && end + 3 < cut.len()) {
        let whole_lines = Module::parse(&cut[..end]);
        // What is left may be a module without the kernel, but never one with a part of it.
        assert!(whole_lines.is_err() || whole_lines.unwrap().entries().next().is_none(), "{end}");
    }
}

#[test]
fn a_directive_outside_of_the_subset_is_refused() {
    let bodies = [".local .align 4 .b8 stack[16]; ret;", ".reg .b128 %q<2>; ret;", ".pragma \"other\"; ret;"];
    for (body, name) in bodies.into_iter().zip([".local", ".b128", ".pragma \"other\""]) {
        assert_eq!(refused(body), format!("`{name}` is not among what is replayed"));
    }
    for (from, to, name) in [
        ("9.0", "8.9", ".version 8.9"),
        ("sm_80", "texmode", ".target texmode"),
        (".address_size 64", ".address_size 32", ".address_size 32"),
        (".extern", ".global", ".global"),
        (".visible .entry", ".visible .func", ".func"),
        (".maxntid", ".reqntid", ".reqntid"),
    ] {
        let error = Module::parse(&text("ret;").replace(from, to)).unwrap_err();
        assert_eq!(error.reason.to_string(), format!("`{name}` is not among what is replayed"), "{to}");
    }
}
