//! Tasks and candidates, decoded for playing and grading.

use std::sync::Arc;

use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::event::TaskContent;
use tadpole_kernel::id::{Digest, StableId};
use tadpole_kernel::world::{Content, WorldView};
use tadpole_scenarios::repository::Tree;

/// A task or candidate with its trees decoded.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its id.
    pub id: StableId,
    /// Content digest: its name in random streams.
    pub digest: Digest,
    /// The problem statement.
    pub statement: String,
    /// The repository with the fault in it.
    pub snapshot: Tree,
    /// The files that the gold patch rewrites, as they are after it.
    pub gold: Tree,
    /// The hidden tests.
    pub hidden: Tree,
    /// F2P; empty before validation.
    pub fail_to_pass: Vec<String>,
    /// P2P.
    pub pass_to_pass: Vec<String>,
}

impl Subject {
    /// Files that hold hidden tests, ascending.
    #[must_use]
    pub fn test_files(&self) -> Vec<String> {
        self.hidden.paths().map(str::to_owned).collect()
    }

    /// Files of the snapshot that hold tests the agent can see, ascending.
    #[must_use]
    pub fn visible_test_files(&self) -> Vec<String> {
        self.snapshot.paths().filter(|path| is_test_file(path)).map(str::to_owned).collect()
    }
}

/// Decodes the task or candidate `id`.
///
/// # Errors
/// Where the world holds no content of it, or a tree does not decode.
pub fn load(world: &WorldView<'_>, blobs: &BlobReader, id: StableId) -> Result<Arc<Subject>, DecideError> {
    let missing = || DecideError::new(format!("the world holds no content of {id}"));
    let Content { content, fail_to_pass, pass_to_pass } = world.content(id).ok_or_else(missing)?;
    let TaskContent { digest, origin: _, statement, snapshot, gold, tests } = content.as_ref();
    let tree = |bulk| -> Result<Tree, DecideError> {
        let bytes = blobs.bulk(bulk).context("reading a tree")?;
        Tree::from_canonical(&bytes).context(format!("decoding a tree of {id}"))
    };
    Ok(Arc::new(Subject {
        id,
        digest: *digest,
        statement: statement.clone(),
        snapshot: tree(snapshot)?,
        gold: tree(gold)?,
        hidden: tree(tests)?,
        fail_to_pass: fail_to_pass.clone(),
        pass_to_pass: pass_to_pass.clone(),
    }))
}

/// Whether a path is a test file by the convention of the embedded world (and of pytest): `test_*.py`.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_"))
}
