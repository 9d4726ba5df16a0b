//! Prints how the curriculum of a run evolved, as text that makes a good snapshot.
//!
//! ```console
//! $ cargo run --release -p tadpole-systems --example curriculum -- runs/nano-1
//! ```

use std::error::Error;

use tadpole_kernel::run::RunReader;
use tadpole_systems::analysis::Curriculum;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: curriculum RUN")?;
    let run = RunReader::open(&directory)?;
    let mut curriculum = Curriculum::default();
    for event in run.events()? {
        let (_, _, event) = event?;
        curriculum.add(&event);
    }
    print!("{curriculum}");
    Ok(())
}
