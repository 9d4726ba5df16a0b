//! Runs that are written while they are looked at.

use std::fs;
use std::path::{Path, PathBuf};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tadpole_kernel::run::RunReader;
use tadpole_tests::{bits, nano};

use super::tests::Screen;
use super::*;
use crate::engine::{Engine, Kind, Local};

#[test]
fn a_run_that_grows_is_followed_until_one_goes_back() {
    let mut recording = Local.open(nano::run()).unwrap();
    let mut steps = recording.more().unwrap();
    assert_eq!(recording.more().unwrap(), [], "nothing was added");
    let later = steps.split_off(10);
    let mut state = State::new("nano".into(), steps);
    assert_eq!((state.step, state.follows), (9, true), "a run that is not over is shown at its end");
    let (more, rest) = later.split_at(5);
    state.grow(more.to_vec());
    assert_eq!(state.step, 14);
    state.press(KeyEvent::new(KeyCode::Left, KeyModifiers::NONE));
    state.grow(rest.to_vec());
    assert_eq!((state.step, state.follows), (13, false));
    state.press(KeyEvent::new(KeyCode::Char('f'), KeyModifiers::NONE));
    assert_eq!(state.step, state.steps.len() - 1);
}

#[test]
fn a_recording_tells_of_what_was_committed_since_it_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("log")).unwrap();
    let copy = |file: &str| fs::copy(nano::run().join(file), directory.path().join(file)).unwrap();
    copy("scenario.toml");
    copy("log/00000000.seg");
    let mut recording = Local.open(directory.path()).unwrap();
    let first = recording.more().unwrap();
    let last = first.last().unwrap().step;
    let all = Local.open(nano::run()).unwrap().more().unwrap();
    assert_eq!(first, all[..first.len()]);
    assert!(first.len() < all.len(), "nano has a segment an iteration");
    // Asked about the end of what there was, it still finds what comes after.
    recording.world(last, Kind::Tasks, 0..1).unwrap();
    for index in 1.. {
        let file = format!("log/{index:08}.seg");
        if !nano::run().join(&file).exists() {
            break;
        }
        copy(&file);
    }
    assert_eq!(recording.more().unwrap(), all[first.len()..]);
    let end = all.last().unwrap().step;
    assert_eq!(recording.world(end, Kind::Tasks, 0..1).unwrap().stands, "finished");
}

/// A run of nano whose log is written again, byte by byte.
struct Growing {
    directory: tempfile::TempDir,
    /// The log that it will have: files with their bytes.
    log: Vec<(PathBuf, Vec<u8>)>,
    /// How many bytes of it there are after each step.
    ends: Vec<usize>,
}

impl Growing {
    /// The first three steps.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        bits::copy(nano::run(), directory.path());
        let files = (0..).map(|index| directory.path().join(format!("log/{index:08}.seg")));
        let log: Vec<_> = files.map_while(|file| Some((file.clone(), fs::read(file).ok()?))).collect();
        let before =
            |segment: u32| log[..segment as usize].iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let groups = RunReader::open(nano::run()).unwrap().groups().unwrap().map(Result::unwrap);
        let ends = groups.map(|group| before(group.segment()) + group.end() as usize).collect();
        let growing = Self { directory, log, ends };
        growing.write(growing.ends[2]);
        growing
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn length(&self) -> usize {
        self.log.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Makes the log as it was when it had `length` bytes; returns how many steps these are.
    fn write(&self, length: usize) -> usize {
        let mut left = length;
        for (file, bytes) in &self.log {
            let part = bytes.len().min(left);
            left -= part;
            if part > 0 {
                fs::write(file, &bytes[..part]).unwrap();
            } else if file.exists() {
                fs::remove_file(file).unwrap();
            }
        }
        self.ends.partition_point(|end| *end <= length)
    }
}

/// Looks at a run whenever a few bytes more of it were written, mostly within a step.
#[test]
fn the_view_follows_a_run_that_is_being_written() {
    let growing = Growing::new();
    let mut screen = Screen::over(growing.path(), 120, 30);
    assert!(screen.shown().contains("step 2 of 2"));
    let mut seen = 3;
    for length in (growing.ends[2]..growing.length()).step_by(1_501).chain([growing.length()]) {
        let steps = growing.write(length);
        refresh(&mut screen.state, screen.recording.as_mut());
        let (shown, last) = (screen.shown(), steps - 1);
        assert_eq!(screen.state.steps.len(), steps, "{length} bytes");
        assert!(shown.contains(&format!("step {last} of {last} ")) && shown.contains("following"), "{shown}");
        assert_eq!(screen.state.note, None, "{length} bytes");
        assert!(screen.state.fields().unwrap().is_ok() && screen.state.sheet().unwrap().is_ok());
        seen = seen.max(steps);
    }
    assert_eq!(seen, growing.ends.len());
    assert!(screen.shown().contains("finished"));
}

#[test]
fn a_place_in_a_run_that_is_being_written_is_kept_and_so_is_what_was_opened() {
    let growing = Growing::new();
    let half = growing.write(growing.length() / 2);
    let mut screen = Screen::over(growing.path(), 120, 30);
    screen.press("/trajectoryfinished<enter>");
    let (step, opened) = (screen.state.step, screen.press("<enter>").shown());
    let steps = growing.write(growing.length() - 9);
    refresh(&mut screen.state, screen.recording.as_mut());
    assert_eq!((screen.state.step, screen.state.steps.len() > half), (step, true));
    let grown = screen.shown();
    assert!(grown.contains(&format!("step {step} of {} ", steps - 1)), "{grown}");
    let body = |screen: &str| screen.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&opened), body(&grown), "what was opened stays as it is");
    let end = screen.press("<esc>f").shown();
    assert!(end.contains(&format!("step {0} of {0} ", steps - 1)), "{end}");
}
