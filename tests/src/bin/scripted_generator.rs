//! A generator outside, for tests: it answers from a script, and notes every request that it is asked.
//!
//! `scripted_generator SCRIPT LEDGER`: the script is a list of `{"request": ..., "answer": ...}`, and the first line whose every
//! field a request has answers it. With the environment variable `SCRIPTED_GENERATOR_KILLS_AT` set to n, the n-th request is
//! not answered: whoever asked is killed instead.
//!
//! It uses nothing of the library beside it, so that it starts and links fast.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::parent_id;
use std::process::Command;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(script), Some(ledger)) = (arguments.next(), arguments.next()) else {
        return Err("usage: scripted_generator SCRIPT LEDGER".into());
    };
    let request: Value = serde_json::from_reader(io::stdin())?;
    let asked = note(&ledger, &request)?;
    if std::env::var("SCRIPTED_GENERATOR_KILLS_AT").is_ok_and(|at| at == asked.to_string()) {
        Command::new("kill").args(["-9", &parent_id().to_string()]).status()?;
        return Err("whoever asked was killed".into());
    }
    let script: Vec<Value> = serde_json::from_slice(&fs::read(script)?)?;
    let line = script.iter().find(|line| is_about(line, &request));
    println!("{}", line.ok_or("the script has no answer")?["answer"]);
    Ok(())
}

/// Adds a request to the ledger: how many there are now.
fn note(ledger: &str, request: &Value) -> io::Result<usize> {
    let mut file = OpenOptions::new().create(true).append(true).open(ledger)?;
    file.write_all(format!("{request}\n").as_bytes())?;
    Ok(fs::read_to_string(ledger)?.lines().count())
}

fn is_about(line: &Value, request: &Value) -> bool {
    line["request"]
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(key, value)| request[key.as_str()] == *value))
}
