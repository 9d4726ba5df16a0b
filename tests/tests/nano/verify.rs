//! Verify: every decision is made again, and a lie is found where it was told.

mod forged;
mod honest;
mod proposed;
mod refused;
