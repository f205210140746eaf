//! A `berth` process that writes its log in JSON.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::{eventually, eventually_blocking};

/// A running process. It is killed when this is dropped.
pub struct Logged {
    /// The process.
    pub child: Child,
    log: Arc<Mutex<Vec<Value>>>,
    /// Ends when all of the log has been read.
    reader: JoinHandle<()>,
}

impl Logged {
    /// Starts the command.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // A line with a duplicate key is kept as text: a Value would drop one of the two.
                let line = match serde_json::from_str::<Value>(&line) {
                    Ok(value) if value.to_string().len() == line.len() => value,
                    _ => Value::String(line),
                };
                lines.lock().unwrap().push(line);
            }
        });
        Self { child, log, reader }
    }

    /// Waits for a line of the log that satisfies the condition, and returns the first one.
    #[track_caller]
    pub fn logged(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        eventually_blocking("a line in the log", || self.line(&is))
    }

    /// As [`logged`](Self::logged), without blocking the thread.
    pub async fn logs(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        eventually("a line in the log", async || self.line(&is)).await
    }

    /// The first line that satisfies the condition, or the whole log.
    fn line(&mut self, is: impl Fn(&Value) -> bool) -> Result<Value, Vec<Value>> {
        if let Some(line) = self.log.lock().unwrap().iter().find(|line| is(line)) {
            return Ok(line.clone());
        }
        // Its last lines may not be read yet.
        if self.reader.is_finished()
            && let Some(status) = self.child.try_wait().unwrap()
        {
            panic!("it ended, {status}: {:?}", self.log.lock().unwrap());
        }
        Err(self.log())
    }

    /// All lines of the log so far.
    pub fn log(&self) -> Vec<Value> {
        self.log.lock().unwrap().clone()
    }

    /// Sends a signal by its name.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([&format!("-{signal}"), &self.child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    /// Waits until the process has ended, and all of its log has been read.
    pub async fn ended(&mut self) -> ExitStatus {
        eventually("the end of the process", async || {
            let status = self.child.try_wait().unwrap();
            status
                .filter(|_| self.reader.is_finished())
                .ok_or("it still runs")
        })
        .await
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port of an address in the log.
pub fn port(address: &Value) -> u16 {
    let address = address.as_str().unwrap();
    address.rsplit_once(':').unwrap().1.parse().unwrap()
}
