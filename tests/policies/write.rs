//! One write, and sending it.

use std::time::Duration;

use berth_testkit::cluster::http::Answer;
use berth_testkit::cluster::{Person, collection_of, path_of};
use http::{HeaderName, HeaderValue, Method, Request};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::users::User;

/// Begins a text in an object that stands for a time near now: `@now-60` is a minute ago.
const NOW: &str = "@now";

/// The API server gives up before.
const PATIENCE: Duration = Duration::from_secs(120);

/// The method of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Create,
    /// A PUT of the whole object.
    Replace,
    /// A server-side apply that forces conflicts.
    Apply,
}

/// A dry run of a write by a user.
#[derive(Clone, Debug)]
pub struct Write {
    pub user: User,
    pub verb: Verb,
    pub object: Value,
}

impl Write {
    /// All that is needed to send it again.
    pub fn replay(&self) -> Value {
        let User { name, groups, .. } = &self.user;
        json!({
            "user": name,
            "groups": groups,
            "verb": format!("{:?}", self.verb),
            "path": self.path(),
            "object": self.object,
        })
    }

    /// The write with times instead of the texts that stand for them.
    pub fn filled_in(&self) -> Self {
        let mut write = self.clone();
        fill_in_times(&mut write.object, Timestamp::now());
        write
    }

    /// Returns true if the object has times near now: on a busy machine, the API server may see them too late.
    pub fn is_timed(&self) -> bool {
        self.object.to_string().contains(NOW)
    }

    fn path(&self) -> String {
        let query = "dryRun=All&fieldManager=proof";
        match self.verb {
            Verb::Create => format!("{}?{query}", collection_of(&self.object)),
            Verb::Replace => format!("{}?{query}", path_of(&self.object)),
            Verb::Apply => format!("{}?{query}&force=true", path_of(&self.object)),
        }
    }
}

/// Sends a write to be decided by an engine.
pub async fn send(admin: &Person, write: &Write, engine: &Engine) -> Answer {
    let (method, kind) = match write.verb {
        Verb::Create => (Method::POST, "application/json"),
        Verb::Replace => (Method::PUT, "application/json"),
        Verb::Apply => (Method::PATCH, "application/apply-patch+yaml"),
    };
    let write = write.filled_in();
    let mut request = Request::builder()
        .method(method)
        .uri(write.path())
        .header("content-type", kind)
        .header("accept", "application/json")
        .header("impersonate-user", header(&write.user.name));
    let groups = write.user.groups.iter().map(|group| (*group).to_owned());
    for group in groups.chain(engine.groups()) {
        let name = HeaderName::from_static("impersonate-group");
        request = request.header(name, header(&group));
    }
    let body = write.object.to_string().into_bytes();
    let sent = admin.request(request.body(body.into()).unwrap());
    let answer = tokio::time::timeout(PATIENCE, sent).await;
    answer.expect("an answer in time").unwrap()
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_bytes(text.as_bytes()).unwrap()
}

fn fill_in_times(value: &mut Value, now: Timestamp) {
    match value {
        Value::String(text) => {
            if let Some(offset) = text.strip_prefix(NOW) {
                let seconds = if offset.is_empty() {
                    0
                } else {
                    offset.parse().unwrap()
                };
                let time = now + SignedDuration::from_secs(seconds);
                *text = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in_times(item, now)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| fill_in_times(field, now)),
        _ => {}
    }
}
