//! Compresses the files that the page loads: so they are embedded, and sent.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    for name in ["main.js", "style.css"] {
        let built = Path::new("web/dist").join(name);
        println!("cargo::rerun-if-changed={}", built.display());
        let compressed = File::create(Path::new(&out).join(format!("{name}.gz")))?;
        let mut encoder = GzEncoder::new(compressed, Compression::best());
        encoder.write_all(&fs::read(built)?)?;
        encoder.finish()?;
    }
    Ok(())
}
