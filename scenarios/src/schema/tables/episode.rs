//! `[harness]` and `[sandbox]`: what an episode may do.

use crate::schema::check::Anything;
use crate::schema::table::keys;
use crate::schema::value::choice;

choice! {
    /// What a policy sees and may call.
    pub enum HarnessKind {
        /// Five typed tools; a turn without a call is the final answer.
        Leaf = "leaf",
    }
}

choice! {
    /// How much the harness says.
    pub enum Style {
        /// As a policy that was trained on the tools needs it, with a few hundred tokens for everything.
        Terse = "terse",
        /// As a real model needs it: instructions, tool schemas, every section of a result.
        Full = "full",
    }
}

choice! {
    /// How tool calls are spelled.
    pub enum Codec {
        /// JSON in `<tool_call>` tags.
        Hermes = "hermes",
    }
}

choice! {
    /// Where tools act.
    pub enum SandboxKind {
        /// An in-memory tree with an embedded shell and an embedded Python.
        Memory = "memory",
    }
}

keys! {
    /// What the policy sees, and how long an episode may be.
    pub struct Harness {
        /// The harness: "leaf" offers Read, Write, Edit, Glob and Bash, and ends at the first turn without a call.
        kind: HarnessKind = HarnessKind::Leaf, Anything;
        /// How much it says: "terse" has no system prompt and no empty headings, "full" is for real models.
        style: Style = Style::Terse, Anything;
        /// How tool calls are spelled: "hermes" is JSON in `<tool_call>` tags.
        codec: Codec = Codec::Hermes, Anything;
        /// Turns of an episode, the final answer included. Two bugs take eight where nothing goes wrong.
        max_turns: u32 = 12, 1..=1_000;
        /// Tokens the policy may sample in one turn; a turn cut by this limit runs no call.
        turn_tokens: u32 = 64, 1..=1_048_576;
        /// Tokens of the whole history, prompt and observations included.
        context: u32 = 768, 16..=1_048_576;
        /// Tool calls of one turn that are run; further ones are answered with an error.
        max_calls: u32 = 4, 1..=64;
        /// Characters of a Read result before it is cut. Real models get 20,000.
        read_characters: u32 = 700, 16..=1_000_000;
        /// Paths of a Glob result before it is cut. Real models get 1,000.
        glob_paths: u32 = 20, 1..=100_000;
        /// Characters of a Bash result before it is cut. Real models get 30,000.
        bash_characters: u32 = 500, 16..=1_000_000;
    }
}

keys! {
    /// Where tools act, and the limits of everything that runs there. All are counted, so that they hold the same everywhere.
    pub struct Sandbox {
        /// The sandbox: "memory" is hermetic and deterministic.
        kind: SandboxKind = SandboxKind::Memory, Anything;
        /// Python instructions, in units of 256: for loading a test file with its imports, for each test, for each script.
        fuel: u64 = 400, 1..=1_000_000_000;
        /// Bytes that a Python program may hold. At most 8 MiB, so that no single operation on large numbers takes long.
        memory_bytes: u64 = 4_194_304, 65_536..=8_388_608;
        /// Bytes kept of a command's output, and of its errors.
        output_bytes: u64 = 120_000, 256..=16_777_216;
        /// Commands of one Bash call; its loops may take ten times as many rounds.
        commands: u64 = 5_000, 1..=1_000_000;
        /// Files, directories and links in the tree.
        files: u64 = 4_096, 1..=100_000;
        /// Bytes of all files.
        disk_bytes: u64 = 33_554_432, 65_536..=1_073_741_824;
        /// Wall-clock watchdog in milliseconds, far above every counted limit: it ends only native loops that do not count,
        /// and each time it fires is recorded as an effect.
        watchdog_ms: u64 = 20_000, 100..=3_600_000;
    }
}
