//! The tools as a prompt describes them.

use crate::codec::{Parameter, ToolSchema};

/// Read, Write, Edit, Glob, Bash.
pub const TOOLS: &[ToolSchema] = &[
    ToolSchema {
        name: "Read",
        description: "Read a text file. Returns numbered lines.",
        parameters: &[
            required("file_path", "Path to the file to read."),
            optional("offset", "integer", "Optional 1-based starting line."),
            optional("limit", "integer", "Optional maximum number of lines."),
        ],
    },
    ToolSchema {
        name: "Write",
        description: "Write a complete file, creating parent directories when needed.",
        parameters: &[required("file_path", "Path to write."), required("content", "Full file contents.")],
    },
    ToolSchema {
        name: "Edit",
        description: "Replace an exact string in a text file.",
        parameters: &[
            required("file_path", "Path to edit."),
            required("old_string", "Exact text to replace."),
            required("new_string", "Replacement text."),
            optional("replace_all", "boolean", "Replace every occurrence instead of requiring one match."),
        ],
    },
    ToolSchema {
        name: "Glob",
        description: "Find files by glob pattern.",
        parameters: &[
            required("pattern", "Glob pattern, e.g. **/*.py."),
            optional("path", "string", "Optional directory to search from."),
        ],
    },
    ToolSchema {
        name: "Bash",
        description: "Run a shell command in the repository workdir.",
        parameters: &[
            required("command", "Command to run."),
            optional("description", "string", "Short description of the command."),
            optional("timeout", "number", "Optional timeout in seconds."),
        ],
    },
];

const fn required(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, kind: "string", description, required: true }
}

const fn optional(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter { name, kind, description, required: false }
}
