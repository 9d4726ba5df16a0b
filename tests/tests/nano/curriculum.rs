//! How the curriculum of nano evolves, as a snapshot.

use tadpole_systems::analysis::Curriculum;
use tadpole_tests::nano::nano;

#[test]
fn nanos_curriculum_is_the_recorded_one() {
    let events = nano().events.iter().map(|(_, event)| event);
    insta::assert_snapshot!(Curriculum::from_events(events));
}
