//! Screens of a fixed run, and how keys move through it.

use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tadpole_tests::nano;

use super::*;
use crate::engine::{Engine, Episode, Kind, Local, Outline, Sheet, Shown, Subject, TokenTable};

/// A terminal of a size, with a run of nano on it.
pub(super) struct Screen {
    pub(super) recording: Box<dyn Recording>,
    pub(super) state: State,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    fn new(width: u16, height: u16) -> Self {
        Self::over(nano::run(), width, height)
    }

    /// The same of another run.
    pub(super) fn over(run: &Path, width: u16, height: u16) -> Self {
        let mut recording = Local.open(run).unwrap();
        let state = State::new(recording.title(), recording.more().unwrap());
        Self { recording, state, terminal: Terminal::new(TestBackend::new(width, height)).unwrap() }
    }

    /// Presses keys: `<right>` and the like by name, others as they are.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_inclusive(['>', '<']).flat_map(named) {
            self.state.press(KeyEvent::new(key, KeyModifiers::NONE));
            load(&mut self.state, self.recording.as_mut());
        }
        self
    }

    pub(super) fn shown(&mut self) -> String {
        load(&mut self.state, self.recording.as_mut());
        self.terminal.draw(|frame| view::draw(&self.state, frame)).unwrap();
        self.terminal.backend().to_string()
    }

    fn place(&self) -> (usize, usize) {
        (self.state.step, self.state.event)
    }
}

/// `right>` is a key, `ab<` are two and the beginning of a name.
fn named(part: &str) -> Vec<KeyCode> {
    let Some(name) = part.strip_suffix('>') else {
        return part.trim_end_matches('<').chars().map(KeyCode::Char).collect();
    };
    vec![match name {
        "right" => KeyCode::Right,
        "left" => KeyCode::Left,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "tab" => KeyCode::Tab,
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "back" => KeyCode::Backspace,
        "pagedown" => KeyCode::PageDown,
        "pageup" => KeyCode::PageUp,
        other => panic!("no key is called {other}"),
    }]
}

#[test]
fn the_first_step_is_shown_with_events_fields_and_world() {
    insta::assert_snapshot!(Screen::new(150, 36).shown());
}

#[test]
fn a_narrow_terminal_has_room_for_the_panes() {
    insta::assert_snapshot!(Screen::new(80, 24).press(":16<enter>").shown());
}

#[test]
fn the_world_is_shown_as_it_was_after_the_step() {
    insta::assert_snapshot!(Screen::new(150, 36).press("/updateapplied<enter>4").shown());
}

#[test]
fn an_update_opens_as_show_prints_it() {
    insta::assert_snapshot!(Screen::new(120, 30).press("/updateapplied<enter><enter>").shown());
}

#[test]
fn a_trajectory_that_trained_is_shown_token_by_token() {
    let mut screen = Screen::new(150, 40);
    insta::assert_snapshot!(screen.press(ROLLOUT).shown());
}

/// Goes to the first update, back to the trajectories that it trained on, and into one of them, ten tokens on.
const ROLLOUT: &str = "/updateapplied<enter><left><enter><pagedown>";

#[test]
fn the_selected_token_is_marked_in_transcript_and_table() {
    let mut screen = Screen::new(150, 40);
    screen.press(ROLLOUT).shown();
    let buffer = screen.terminal.backend().buffer();
    let reversed = |from: u16, to: u16| {
        let cells = (1..39).flat_map(|row| (from..to).map(move |column| (column, row)));
        let marked = cells
            .map(|place| &buffer[place])
            .filter(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED));
        marked.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    let Some(state::Page::Episode { token, episode: Some(Ok(episode)), .. }) = screen.state.pages.last()
    else {
        panic!("a trajectory is open")
    };
    let row = &episode.lessons[0].tokens[*token];
    assert_eq!(reversed(0, 88), row.text.replace('\n', "⏎"));
    assert!(reversed(88, 150).contains(&format!("{:?}", row.text)));
}

#[test]
fn arrows_move_by_step_and_by_event_and_brackets_by_iteration() {
    let mut screen = Screen::new(100, 30);
    assert_eq!(screen.press("<left>").place(), (0, 0), "nothing lies before the first step");
    assert_eq!(screen.press("<right><right>").place(), (2, 0));
    assert_eq!(screen.press("<home><down>").place(), (1, 0), "step 0 has one event");
    let events = screen.state.steps[1].events.len();
    assert!(events > 1);
    assert_eq!(screen.press("<down>").place(), (1, 1));
    assert_eq!(screen.press("<up><up>").place(), (0, 0));
    let first_of = |screen: &Screen, iteration: u32| {
        screen.state.steps.iter().position(|outline| outline.iteration == iteration).unwrap()
    };
    let (one, two) = (first_of(&screen, 1), first_of(&screen, 2));
    assert_eq!(screen.press("]").place(), (one, 0));
    assert_eq!(screen.press("]").place(), (two, 0));
    assert_eq!(screen.press("<right>[").place(), (two, 0), "the start of its own iteration comes first");
    assert_eq!(screen.press("[").place(), (one, 0));
    let last = screen.state.steps.len() - 1;
    assert_eq!(screen.press("<end>").place(), (last, 0));
    assert_eq!(screen.press("]").place(), (last, 0));
    assert!(screen.shown().contains("there is no such iteration"));
}

#[test]
fn a_search_finds_kinds_and_ids_in_both_directions_and_says_when_it_wraps() {
    let mut screen = Screen::new(100, 30);
    let all: Vec<(usize, usize)> = places(&screen, |event| event.name == "TaskAdmitted");
    assert_eq!(screen.press("/task_admitted<enter>").place(), all[0]);
    assert_eq!(screen.press("n").place(), all[1]);
    assert_eq!(screen.press("N").place(), all[0]);
    assert_eq!(screen.press("N").place(), *all.last().unwrap());
    assert!(screen.shown().contains("went on from the last step"));
    let id = screen.state.steps[all[0].0].events[all[0].1].ids[0];
    let mentions = places(&screen, |event| event.ids.contains(&id));
    assert_eq!(screen.press(&format!("<home>/{id}<enter>")).place(), mentions[0]);
    assert!(mentions.len() > 1, "a task is played on");
    screen.press("/nonsense<enter>");
    assert!(screen.shown().contains("no kind of event is called nonsense"));
    screen.press("/999999<enter>");
    assert!(screen.shown().contains("nothing in this run matches 999999"));
}

fn places(screen: &Screen, is: impl Fn(&crate::engine::EventOutline) -> bool) -> Vec<(usize, usize)> {
    let steps = screen.state.steps.iter().enumerate();
    steps
        .flat_map(|(step, outline)| {
            outline.events.iter().enumerate().map(move |(at, event)| ((step, at), event))
        })
        .filter(|(_, event)| is(event))
        .map(|(place, _)| place)
        .collect()
}

#[test]
fn a_place_is_gone_to_by_number() {
    let mut screen = Screen::new(100, 30);
    assert_eq!(screen.press(":12<enter>").place(), (12, 0));
    let event = screen.state.steps[20].events[0].sequence;
    assert_eq!(screen.press(&format!(":e{event}<enter>")).place(), (20, 0));
    screen.press(":i2<enter>");
    assert_eq!(screen.state.outline().unwrap().iteration, 2);
    let before = screen.place();
    assert_eq!(screen.press(":x<enter>").place(), before);
    assert!(screen.shown().contains("x is no place"));
    assert_eq!(screen.press(":9999<enter>").place(), before);
    assert!(screen.shown().contains("there is no 9999 in this run"));
}

#[test]
fn what_is_opened_closes_again_and_the_place_is_kept() {
    let mut screen = Screen::new(100, 30);
    let place = screen.press("/candidatecalibrated<enter>").place();
    assert!(screen.press("<enter>").shown().contains("candidate "));
    assert_eq!(screen.state.pages.len(), 1);
    screen.press("<down><pagedown><esc>");
    assert_eq!((screen.state.pages.len(), screen.place()), (0, place));
    assert!(screen.press("1").shown().contains("held out"));
    assert!(screen.press("<down><enter>").shown().contains("task "));
    assert!(!screen.state.is_done());
    screen.press("q");
    assert!(screen.state.is_done());
}

#[test]
fn no_key_fails_anywhere() {
    let keys =
        ["<left>", "<right>", "<up>", "<down>", "<home>", "<end>", "<tab>", "<enter>", "<esc>", "<back>"];
    let letters = [
        "<pageup>",
        "<pagedown>",
        "1",
        "2",
        "3",
        "4",
        "[",
        "]",
        "n",
        "N",
        "f",
        "d",
        "D",
        "u",
        "?",
        "/",
        ":",
        "z",
    ];
    let all: Vec<&str> = keys.into_iter().chain(letters).collect();
    let mut screen = Screen::new(40, 10);
    // A fixed walk over pairs of keys, far from any order that a person would think of.
    for round in 0..all.len() {
        for index in 0..all.len() {
            screen.press(all[(index * 7 + round * 3) % all.len()]);
        }
        screen.shown();
    }
    for (width, height) in [(1, 1), (2, 2), (10, 3), (300, 80)] {
        screen.terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        screen.shown();
    }
}

#[test]
fn the_keys_are_explained() {
    insta::assert_snapshot!(Screen::new(100, 24).press("?").shown());
}

/// A run whose every answer is a failure.
struct Broken;

impl Recording for Broken {
    fn title(&self) -> String {
        "broken".into()
    }

    fn more(&mut self) -> Result<Vec<Outline>, Failure> {
        Local.open(nano::run())?.more()
    }

    fn fields(&mut self, _: u64, _: usize) -> Result<String, Failure> {
        Err(Failure::failed("the log is corrupt"))
    }

    fn world(&mut self, _: u64, _: Kind, _: std::ops::Range<usize>) -> Result<Sheet, Failure> {
        Err(Failure::failed("the world differs"))
    }

    fn show(&mut self, _: &Subject) -> Result<Shown, Failure> {
        Err(Failure::failed("a blob is missing"))
    }

    fn episode(&mut self, _: u64) -> Result<Episode, Failure> {
        Err(Failure::failed("a blob is damaged"))
    }
}

#[test]
fn what_cannot_be_read_is_said_in_its_place() {
    let mut recording: Box<dyn Recording> = Box::new(Broken);
    let state = State::new(recording.title(), recording.more().unwrap());
    let mut screen = Screen { recording, state, terminal: Terminal::new(TestBackend::new(100, 24)).unwrap() };
    let shown = screen.shown();
    assert!(shown.contains("the log is corrupt") && shown.contains("the world differs"), "{shown}");
    assert!(screen.press("/policypublished<enter><enter>").shown().contains("a blob is missing"));
    assert!(screen.press("<esc>/trajectoryfinished<enter><enter>").shown().contains("a blob is damaged"));
}

#[test]
fn dropped_tokens_are_gone_to_and_updates_taken_in_turn() {
    let mut screen = Screen::new(100, 30);
    screen.press(ROLLOUT);
    let Some(state::Page::Episode { token, episode: Some(Ok(episode)), .. }) = screen.state.pages.last_mut()
    else {
        panic!("a trajectory is open")
    };
    *token = 0;
    episode.lessons[0].tokens[3].kept = Some(false);
    episode.lessons[0].tokens[7].kept = Some(false);
    let other = TokenTable { title: "another update".into(), tokens: episode.lessons[0].tokens.clone() };
    episode.lessons.push(other);
    let at = |screen: &Screen| match screen.state.pages.last() {
        Some(state::Page::Episode { token, lesson, .. }) => (*token, *lesson),
        _ => panic!("a trajectory is open"),
    };
    assert_eq!(at(screen.press("d")), (3, 0));
    assert_eq!(at(screen.press("dd")), (7, 0), "there is no third");
    assert_eq!(at(screen.press("D")), (3, 0));
    assert_eq!(at(screen.press("u")), (3, 1));
    assert!(screen.shown().contains("another update (2 of 2)"));
    assert_eq!(at(screen.press("u")), (3, 0));
}
