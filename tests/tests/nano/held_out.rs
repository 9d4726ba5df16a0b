//! Nothing held out is trained on.

use tadpole_tests::nano::nano;
use tadpole_tests::programs::assert_disjoint;

#[test]
fn no_normalised_source_of_a_candidate_is_one_of_a_held_out_task() {
    assert_disjoint(&nano().run);
}
