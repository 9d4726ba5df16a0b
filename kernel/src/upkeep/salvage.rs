//! Saving what is sound of a damaged run, as a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::check::{check_on, whole_answer, whole_blob};
use super::claims::Claims;
use super::problem::Problem;
use super::walk::Walk;
use crate::blob::{BlobError, BlobStore, Moments};
use crate::effect::{Asking, EffectError, EffectStore};
use crate::id::{Digest, Step};
use crate::log::{self, Commit, LogError};
use crate::replay::ReplayError;
use crate::run::{RunError, SCENARIO, Staged};
use crate::storage::{Disk, Storage, make_path, write_aside};

/// What was saved, and what was not.
#[derive(Debug)]
pub struct Salvaged {
    /// The last commit of the new run.
    pub last: Commit,
    /// The last step of the damaged run that anything is left of, sound or not.
    pub last_seen: Step,
    /// Why the new run ends where it does: what ended reading, then what is missing of the steps read last. Empty where the
    /// whole run was sound.
    pub cut: Vec<Problem>,
    /// Blobs copied.
    pub blobs: u64,
    /// Answers copied.
    pub answers: u64,
}

/// Why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// The new run cannot be made, or the damaged one is none.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Not even the first step is sound.
    #[error("no step of the run is sound: {0}")]
    Nothing(#[source] Box<Problem>),
    /// What was copied does not hold: the medium fails while it is read.
    #[error("what was copied does not hold: {0}")]
    Unsound(#[source] Box<Problem>),
    /// A blob cannot be copied.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// An answer cannot be copied.
    #[error(transparent)]
    Effect(#[from] EffectError),
}

/// Makes the run `out`, which must not exist, of the damaged run `dir`: up to the last commit at which everything that the
/// log names and that a later decision may need is whole. `dir` is read and not changed.
pub fn salvage(
    dir: impl AsRef<Path>,
    out: impl AsRef<Path>,
    moments: Moments,
) -> Result<Salvaged, SalvageError> {
    let (dir, out) = (dir.as_ref(), out.as_ref());
    let name = out.file_name().ok_or_else(|| RunError::NotARun(out.to_path_buf()))?;
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if fs::symlink_metadata(out).is_ok() {
        return Err(RunError::Exists(out.to_path_buf()).into());
    }
    make_path(parent).map_err(RunError::io(parent))?;
    let (from, to) = (Arc::new(Disk::new(dir)) as Arc<dyn Storage>, Arc::new(Disk::new(parent)));
    let staged =
        Staged::make(&(to as Arc<dyn Storage>), &name.to_string_lossy()).map_err(RunError::io(out))?;
    let saved = save(&from, &staged, moments);
    if saved.is_err()
        && let Err(error) = fs::remove_dir_all(parent.join(&staged.aside))
    {
        tracing::debug!(%error, "what was put together for the run was not removed");
    }
    saved
}

/// `salvage` between other media than the disk: into the directory `name` of `to`.
pub fn salvage_on(
    from: &Arc<dyn Storage>,
    to: &Arc<dyn Storage>,
    name: &str,
    moments: Moments,
) -> Result<Salvaged, SalvageError> {
    save(from, &Staged::make(to, name).map_err(RunError::io(name))?, moments)
}

fn save(from: &Arc<dyn Storage>, staged: &Staged, moments: Moments) -> Result<Salvaged, SalvageError> {
    let Survey { sound, cut } = survey(from, moments)?;
    let Some(sound) = sound else {
        return Err(SalvageError::Nothing(Box::new(cut.into_iter().next().unwrap_or_else(empty))));
    };
    let last_seen = last_seen(from, &sound)?;
    let io = |error| SalvageError::from(RunError::io(&staged.name)(error));
    let scenario = from.read(SCENARIO).map_err(RunError::io(SCENARIO))?;
    write_aside(staged.inner.as_ref(), SCENARIO, &scenario).map_err(io)?;
    copy_log(from, &staged.inner, &sound)?;
    let blobs = copy_blobs(from, &staged.inner, &sound)?;
    let answers = copy_answers(from, &staged.inner)?;
    if !cut.is_empty() {
        let why: Vec<String> = cut.iter().map(Problem::to_string).collect();
        let (kept, of) = (sound.last.step.next(), last_seen.next());
        let note = format!("salvaged {kept} of {of} steps: {}\n", why.join("; "));
        write_aside(staged.inner.as_ref(), log::RECOVERY_LOG, note.as_bytes()).map_err(io)?;
    }
    if let Some(problem) = check_on(&staged.inner, moments).problems.into_iter().next() {
        return Err(SalvageError::Unsound(Box::new(problem)));
    }
    staged.put().map_err(io)?;
    Ok(Salvaged { last: sound.last, last_seen, cut, blobs, answers })
}

/// How far a run is sound.
struct Survey {
    sound: Option<Sound>,
    cut: Vec<Problem>,
}

/// A commit at which everything is whole.
struct Sound {
    run: Digest,
    last: Commit,
    /// Its segment, and where it ends there.
    segment: u32,
    length: u64,
    blobs: BTreeSet<Digest>,
}

fn survey(from: &Arc<dyn Storage>, moments: Moments) -> Result<Survey, SalvageError> {
    let mut walk = match Walk::open_to_gap(from) {
        Ok(walk) => walk,
        Err(error) => return Ok(Survey { sound: None, cut: vec![log_problem(error)] }),
    };
    let mut lookout = Lookout::over(from);
    let mut sound = None;
    let stopped = loop {
        let commit = match walk.step() {
            Ok(Some(commit)) => commit,
            Ok(None) => break gap(from, &walk)?,
            Err(error) => break Some(error.into()),
        };
        if let Err(problem) = lookout.look(&walk.claims, commit.step) {
            break Some(problem);
        }
        if lookout.lacking(&walk, moments).is_empty() {
            let tail = walk.cursor.tail();
            sound = Some((commit, tail.segment.unwrap_or_default(), tail.length));
        }
    };
    let lacking = lookout.lacking(&walk, moments);
    let Lookout { whole, mut missing, .. } = lookout;
    let lacking = lacking.into_iter().filter_map(|digest| missing.remove(&digest)).take(1);
    let cut = stopped.into_iter().chain(lacking).collect();
    let sound = sound.map(|(last, segment, length)| {
        let named =
            walk.claims.blobs.iter().filter(|(_, step)| **step <= last.step).map(|(digest, _)| *digest);
        let blobs = named.filter(|digest| whole.contains(digest)).collect();
        Sound { run: walk.cursor.run(), last, segment, length, blobs }
    });
    Ok(Survey { sound, cut })
}

/// Looks after the blobs and answers that steps name, each once.
struct Lookout {
    store: BlobStore,
    effects: EffectStore,
    whole: BTreeSet<Digest>,
    missing: BTreeMap<Digest, Problem>,
}

impl Lookout {
    fn over(from: &Arc<dyn Storage>) -> Self {
        Self {
            store: BlobStore::new(Arc::clone(from)),
            effects: EffectStore::new(Arc::clone(from), Asking::Forbidden),
            whole: BTreeSet::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Looks after what `step` is the first to name. A blob may be missing because it was dropped; an answer never is.
    fn look(&mut self, claims: &Claims, step: Step) -> Result<(), Problem> {
        for (&request, claimed) in claims.answers.iter().filter(|(_, claimed)| claimed.step == step) {
            whole_answer(&self.effects, request, claimed)?;
        }
        for (&digest, _) in claims.blobs.iter().filter(|(_, named)| **named == step) {
            match self.whole_blob(digest, step) {
                Ok(()) => drop(self.whole.insert(digest)),
                Err(problem) => drop(self.missing.insert(digest, problem)),
            }
        }
        Ok(())
    }

    fn whole_blob(&self, digest: Digest, step: Step) -> Result<(), Problem> {
        match self.store.contains(digest) {
            Ok(false) => Err(Problem::MissingBlob { digest, step }),
            _ => whole_blob(&self.store, digest),
        }
    }

    /// What is missing and needed in the world as it is now.
    fn lacking(&self, walk: &Walk, moments: Moments) -> Vec<Digest> {
        if self.missing.is_empty() {
            return Vec::new();
        }
        let unneeded = walk.unneeded(moments);
        self.missing.keys().filter(|digest| !unneeded.contains(digest)).copied().collect()
    }
}

/// What is wrong at the end of a log that was read to its end.
fn gap(from: &Arc<dyn Storage>, walk: &Walk) -> Result<Option<Problem>, SalvageError> {
    if let Some(torn) = walk.cursor.tail().torn.clone() {
        return Ok(Some(Problem::Torn(torn)));
    }
    let indices = log::segment_indices(from.as_ref()).map_err(RunError::from)?;
    let missing = (0..).zip(&indices).find(|(expected, index)| expected != *index);
    Ok(missing.map(|(missing, _)| log_problem(LogError::MissingSegment(missing))))
}

fn log_problem(error: LogError) -> Problem {
    ReplayError::from(RunError::from(error)).into()
}

fn empty() -> Problem {
    log_problem(LogError::Empty)
}

/// The last step that any valid frame tells of.
fn last_seen(from: &Arc<dyn Storage>, sound: &Sound) -> Result<Step, SalvageError> {
    let mut last = sound.last.step;
    for index in log::segment_indices(from.as_ref()).map_err(RunError::from)? {
        // One that cannot be read tells of nothing.
        let bytes = from.read(&log::segment_name(index)).unwrap_or_default();
        last = last.max(log::last_step_in(&bytes, sound.run).unwrap_or_default());
    }
    Ok(last)
}

fn copy_log(from: &Arc<dyn Storage>, to: &Arc<dyn Storage>, sound: &Sound) -> Result<(), SalvageError> {
    let copy = || {
        to.make_dir("log")?;
        for index in 0..=sound.segment {
            let name = log::segment_name(index);
            let bytes = from.read(&name)?;
            let length = if index == sound.segment { sound.length as usize } else { bytes.len() };
            let mut file = to.create(&name)?;
            file.write_all(bytes.get(..length).unwrap_or(&bytes))?;
            file.sync()?;
        }
        to.sync_dir("log")
    };
    Ok(copy().map_err(RunError::io("log"))?)
}

fn copy_blobs(from: &Arc<dyn Storage>, to: &Arc<dyn Storage>, sound: &Sound) -> Result<u64, SalvageError> {
    let (from, to) = (BlobStore::new(Arc::clone(from)), BlobStore::new(Arc::clone(to)));
    for &digest in &sound.blobs {
        let bytes = from.read(digest)?;
        to.write(std::iter::once((digest, bytes.as_ref())))?;
    }
    Ok(sound.blobs.len() as u64)
}

/// All answers that are whole: one whose decision was not committed yet is never asked for again either.
fn copy_answers(from: &Arc<dyn Storage>, to: &Arc<dyn Storage>) -> Result<u64, SalvageError> {
    let from = EffectStore::new(Arc::clone(from), Asking::Forbidden);
    let to = EffectStore::new(Arc::clone(to), Asking::Forbidden);
    let mut copied = 0;
    for request in from.list()? {
        if let Ok(Some(bytes)) = from.recorded(request) {
            to.record(request, &bytes)?;
            copied += 1;
        }
    }
    Ok(copied)
}
