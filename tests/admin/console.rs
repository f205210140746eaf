//! `berth console`: its server, from outside, by plain HTTP.

mod browser;
mod faults;
mod health;
mod many;
mod placements;
mod rights;
mod sets;
mod timeline;
mod works;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::accept::{bootstrap, cluster_path};
use crate::house::House;
use crate::people::bound;
use berth_testkit::cluster::{Cluster, Person, fresh, rule};
use berth_testkit::csr::Csr;

/// Nothing that is awaited takes longer.
const LONGEST: Duration = Duration::from_secs(60);

/// A running console.
struct Console {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    port: Port,
    code: String,
}

/// A console's port, by plain HTTP.
#[derive(Clone, Default)]
struct Port {
    /// Where it listens.
    address: String,
    /// The name by which it is asked.
    host: String,
}

/// A response: its code, its head, and its body.
#[derive(Debug)]
struct Answer {
    code: u16,
    head: String,
    body: Value,
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Console {
    fn start(person: &Person, flags: &[&str]) -> Self {
        let mut command = person.berth_command(&[&["console"], flags].concat());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut console = Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            port: Port::default(),
            code: String::new(),
        };
        console.read_address();
        console
    }

    /// Reads the next address that is printed.
    fn read_address(&mut self) {
        let mut line = String::new();
        while !line.trim().starts_with("http://") {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        let address = line.trim().strip_prefix("http://").unwrap();
        let (host, code) = address.split_once("/#code=").unwrap();
        code.clone_into(&mut self.code);
        self.port = Port {
            address: host.to_owned(),
            host: host.to_owned(),
        };
    }

    /// The address that signs a browser in.
    fn address(&self) -> String {
        format!("http://{}/#code={}", self.host, self.code)
    }

    /// Trades the code, and returns the cookie.
    fn sign_in(&self) -> String {
        let answer = self.write("", "/api/session", &json!({"code": self.code}));
        assert_eq!(answer.code, 204, "{}", answer.head);
        let (cookie, rest) = answer.cookie();
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Strict");
        cookie
    }
}

impl Deref for Console {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.port
    }
}

impl Port {
    /// Sends a request, and returns the connection. By HTTP/1.0 a body ends with its connection.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut tcp = TcpStream::connect(&self.address).unwrap();
        tcp.set_read_timeout(Some(LONGEST)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {}\r\n", self.host));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        tcp.write_all(head.as_bytes()).unwrap();
        tcp
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = String::new();
        self.send(method, path, headers, body)
            .read_to_string(&mut text)
            .unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            code,
            head: head.to_owned(),
            body: serde_json::from_str(body).unwrap_or_else(|_| body.into()),
        }
    }

    fn write(&self, cookie: &str, path: &str, body: &Value) -> Answer {
        let headers = [
            ("cookie", cookie),
            ("content-type", "application/json"),
            ("x-berth-console", "1"),
        ];
        self.ask("POST", path, &headers, &body.to_string())
    }

    fn get(&self, cookie: &str, path: &str) -> Answer {
        self.ask("GET", path, &[("cookie", cookie)], "")
    }

    fn events(&self, cookie: &str, query: &str) -> Events {
        let path = format!("/api/stream?{query}");
        let tcp = self.send("GET", &path, &[("cookie", cookie)], "");
        let mut reader = BufReader::new(tcp);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        while !line.trim().is_empty() {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Events(reader)
    }
}

/// spec.hubAcceptsClient, as the hub stores it.
async fn accepts<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) -> Value {
    let stored = house.admin.get(&cluster_path(name)).await.unwrap();
    stored.ok()["spec"]["hubAcceptsClient"].clone()
}

impl Answer {
    /// The value of a header that is there.
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let value = lines.find_map(|it| it.strip_prefix(name)?.strip_prefix(": "));
        value.unwrap_or_else(|| panic!("{name}: {}", self.head))
    }

    /// The first cookie that is set, and its attributes.
    fn cookie(&self) -> (String, String) {
        let (cookie, rest) = self.header("set-cookie").split_once("; ").unwrap();
        (cookie.to_owned(), rest.to_owned())
    }

    /// The code and the reason of a refusal.
    fn refused(&self) -> (u16, &str) {
        let reason = self.body["error"]["reason"].as_str();
        (self.code, reason.unwrap_or_default())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Events {
    /// Returns the data of the next event of this name that is as it should be.
    fn until(&mut self, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let (mut line, mut event) = (String::new(), String::new());
        let mut seen = Value::Null;
        let begun = Instant::now();
        loop {
            // A comment comes every few seconds, so that a line is not awaited for long.
            assert!(begun.elapsed() < LONGEST, "{name}: {seen:#}");
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "it has ended");
            if let Some(told) = line.strip_prefix("event: ") {
                told.trim().clone_into(&mut event);
            }
            if let Some(data) = line.strip_prefix("data: ")
                && event == name
            {
                let data: Value = serde_json::from_str(data).unwrap();
                if is(&data) {
                    return data;
                }
                seen = data;
            }
        }
    }

    /// Returns true once the stream has ended.
    fn ends(&mut self) -> bool {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).is_ok()
    }
}

/// Runs what blocks beside the runtime of the test.
fn blocking<T>(run: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(run)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_signs_in_sees_what_happens_and_accepts_after_a_dry_run() {
    let house = House::shared().await;
    let [name, other] = [fresh("console"), fresh("console")];
    house.managed_cluster(&name, &[]).await;
    house.managed_cluster(&other, &[]).await;
    let sender = bootstrap(&house).await;
    let csr = Csr::new(&name, "agent1").sent_by(&sender).await.name;
    let ada = bound(house.cluster, "accept").await;
    let mut console = blocking(|| Console::start(&ada, &[]));
    let cookie = blocking(|| console.sign_in());

    let session = blocking(|| console.get(&cookie, "/api/session"));
    assert_eq!(session.code, 200, "{}", session.body);
    let user = session.body["user"].as_str().unwrap();
    assert!(!user.is_empty(), "{}", session.body);

    // The table: both wait. Another admin accepts one, and the row changes by itself.
    let query = format!("screen=clusters&q={}&sort=-name", "console");
    let mut table = blocking(|| console.events(&cookie, &query));
    let window = blocking(|| table.until("window", |_| true));
    let row = |rows: &Value, name: &str| -> Option<Value> {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|it| it["name"] == *name).cloned()
    };
    for name in [&name, &other] {
        assert_eq!(
            row(&window["rows"], name).unwrap()["state"],
            "pending",
            "{window}"
        );
    }
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let answer = house.admin.merge(&cluster_path(&other), &accepted).await;
    answer.unwrap().ok();
    let is_accepted =
        |delta: &Value| row(&delta["rows"], &other).is_some_and(|it| it["state"] == "accepted");
    let delta = blocking(|| table.until("delta", is_accepted));
    assert_eq!(
        row(&delta["rows"], &name),
        None,
        "only what has changed: {delta}"
    );

    // What the cluster waits for, and the command.
    let mut screen = blocking(|| console.events(&cookie, &format!("screen=cluster&name={name}")));
    let shown = blocking(|| screen.until("answer", |_| true));
    let handshake = &shown["handshake"];
    assert_eq!(
        handshake["next"]["command"],
        format!("berth accept {name}"),
        "{shown}"
    );
    let requests = blocking(|| console.get(&cookie, "/api/requests")).body;
    let mut clusters = requests["clusters"].as_array().unwrap().iter();
    let request = clusters.find(|it| it["name"] == *name).unwrap();
    let sent = &request["csrs"][0];
    assert_eq!(
        (&sent["name"], &sent["standing"]),
        (&json!(csr), &json!("approve")),
        "{request}"
    );
    assert_eq!(sent["sender"], sender.user, "{request}");
    assert!(sent["fingerprint"].as_str().unwrap().starts_with("SHA256:"));
    assert_eq!(request["actions"][0]["allowed"], true, "{request}");

    // A dry run changes nothing.
    let accept = format!("/api/clusters/{name}/accept");
    let tried = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": true})));
    assert_eq!(tried.code, 200, "{}", tried.body);
    let words = format!("set hubAcceptsClient to true for managed cluster {name} (server dry run)");
    assert_eq!(tried.body["done"][0], words);
    assert_eq!(tried.body["command"], format!("berth accept {name}"));
    assert_ne!(accepts(&house, &name).await, true);
    // The action does, and the page sees it by itself.
    let done = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": false})));
    assert_eq!(done.code, 200, "{}", done.body);
    let lines = done.body["done"].to_string();
    assert!(lines.contains(&format!("CSR {csr} approved")), "{lines}");
    let step = |answer: &Value, side: &str, kind: &str| -> Value {
        let mut steps = answer["handshake"][side].as_array().unwrap().iter();
        steps.find(|it| it["kind"] == *kind).unwrap()["state"].clone()
    };
    let is_done = |it: &Value| {
        ["accepted", "approved"]
            .iter()
            .all(|kind| step(it, "hub", kind) == "done")
    };
    let shown = blocking(|| screen.until("answer", is_done));
    // The role may not read namespaces: the page says so, and claims nothing.
    assert_eq!(step(&shown, "hub", "prepared"), "unseen", "{shown}");
    let yaml = blocking(|| console.get(&cookie, &format!("/api/clusters/{name}/yaml")));
    assert!(
        yaml.body["yaml"]
            .as_str()
            .unwrap()
            .contains("hubAcceptsClient: true")
    );

    // A denial leaves the agent its rights on works; one more revokes them, too.
    for (act, words, next) in [
        ("deny", "", Some("denyNow")),
        ("denyNow", ", effective immediately", None),
    ] {
        let path = format!("/api/clusters/{name}/{act}");
        let done = blocking(|| console.write(&cookie, &path, &json!({"dryRun": false})));
        let line = format!("set hubAcceptsClient to false for managed cluster {name}{words}");
        assert_eq!(done.body["done"][0], line, "{}", done.body);
        let offered = |it: &Value| -> Vec<Value> {
            let actions = it["actions"].as_array().unwrap().iter();
            let denials = actions.filter(|it| it["act"].as_str().unwrap().starts_with("deny"));
            denials.map(|it| it["act"].clone()).collect()
        };
        let next: Vec<Value> = next.into_iter().map(Value::from).collect();
        blocking(|| screen.until("answer", |it| offered(it) == next));
    }

    // Sign-out: streams end, and the cookie is worth nothing.
    let headers = [("cookie", &*cookie), ("x-berth-console", "1")];
    let out = blocking(|| console.ask("DELETE", "/api/session", &headers, ""));
    assert_eq!(out.code, 204);
    assert!(blocking(|| table.ends()));
    let after = blocking(|| console.get(&cookie, "/api/session"));
    assert_eq!(
        (after.code, &after.body["error"]["reason"]),
        (401, &json!("NotSignedIn"))
    );
    // The code was traded. Enter prints another.
    let again = console.write("", "/api/session", &json!({"code": console.code}));
    assert_eq!(
        (again.code, &again.body["error"]["reason"]),
        (401, &json!("WrongCode"))
    );
    console.stdin.write_all(b"\n").unwrap();
    blocking(|| console.read_address());
    blocking(|| console.sign_in());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_is_told_by_the_gate_and_what_role_to_ask_for() {
    let house = House::shared().await;
    let name = fresh("refused");
    house.managed_cluster(&name, &[]).await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let console = blocking(|| Console::start(&dev, &[]));
    let cookie = blocking(|| console.sign_in());
    let shown = blocking(|| console.get(&cookie, &format!("/api/clusters/{name}"))).body;
    let mut offers = shown["actions"].as_array().unwrap().iter();
    let accept = offers.find(|it| it["act"] == "accept").unwrap();
    assert_eq!(accept["allowed"], false, "{accept}");
    let why = accept["why"].as_str().unwrap();
    assert!(why.contains("managedclusters/accept"), "{why}");
    for dry_run in [true, false] {
        let path = format!("/api/clusters/{name}/accept");
        let refused = blocking(|| console.write(&cookie, &path, &json!({"dryRun": dry_run})));
        let error = &refused.body["error"];
        assert_eq!(
            (refused.code, &error["reason"]),
            (403, &json!("Denied")),
            "{error}"
        );
        let words = error["message"].as_str().unwrap();
        assert!(
            words.contains("managedclusters/accept") && words.contains(&name),
            "{words}"
        );
        let missing = &error["missing"];
        assert_eq!(
            missing["role"], "open-cluster-management:berth:accept",
            "{missing}"
        );
        let command = missing["command"].as_str().unwrap();
        assert!(
            command.starts_with(&format!("berth can-i accept {name} --as ")),
            "{command}"
        );
    }
    assert_ne!(accepts(&house, &name).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_list_nothing_sees_single_clusters_and_which_role_to_ask_for() {
    let house = House::shared().await;
    let name = fresh("single");
    house.managed_cluster(&name, &[]).await;
    let person = house.cluster.user(&fresh("few"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let rules = [rule(&["get"], group, &["managedclusters"], &[&name])];
    house.cluster.grant(&person, &rules).await;
    let console = blocking(|| Console::start(&person, &["--read-only"]));
    let cookie = blocking(|| console.sign_in());
    let mut table = blocking(|| console.events(&cookie, "screen=clusters"));
    let hub = blocking(|| table.until("hub", |it| it["state"] != "loading"));
    assert_eq!(hub["state"], "refused", "{hub}");
    let remedy = hub["remedy"].as_str().unwrap();
    assert!(remedy.contains("berth:console-reader"), "{remedy}");
    let mut screen = blocking(|| console.events(&cookie, &format!("screen=cluster&name={name}")));
    let shown = blocking(|| screen.until("answer", |_| true));
    assert_eq!(shown["state"], "pending");
    let notes = shown["notes"].to_string();
    assert!(notes.contains("Its sets cannot be shown"), "{notes}");
    let path = format!("/api/clusters/{name}/cordon");
    let refused = blocking(|| console.write(&cookie, &path, &json!({"dryRun": true})));
    assert_eq!(
        (refused.code, &refused.body["error"]["reason"]),
        (403, &json!("ReadOnly"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_can_do_nothing() {
    let house = House::shared().await;
    let name = fresh("attacked");
    house.managed_cluster(&name, &[]).await;
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    let path = format!("/api/clusters/{name}/accept");
    let (cookie, json) = (("cookie", &*cookie), ("content-type", "application/json"));
    let marked = ("x-berth-console", "1");
    for (what, headers, code, reason) in [
        (
            "DNS rebinding",
            vec![cookie, json, marked, ("host", "evil.example")],
            421,
            "ForeignHost",
        ),
        (
            "another origin",
            vec![cookie, json, marked, ("origin", "http://evil.example")],
            403,
            "ForeignOrigin",
        ),
        (
            "another site",
            vec![cookie, json, marked, ("sec-fetch-site", "cross-site")],
            403,
            "ForeignOrigin",
        ),
        (
            "a form",
            vec![cookie, ("content-type", "text/plain"), marked],
            415,
            "NotJSON",
        ),
        (
            "no header of the page",
            vec![cookie, json],
            403,
            "NotMarked",
        ),
        ("no cookie", vec![json, marked], 401, "NotSignedIn"),
    ] {
        let answer = blocking(|| console.ask("POST", &path, &headers, r#"{"dryRun":false}"#));
        let found = (
            answer.code,
            answer.body["error"]["reason"].as_str().unwrap(),
        );
        assert_eq!(found, (code, reason), "{what}");
        assert!(
            answer
                .head
                .contains("content-security-policy: default-src 'none'"),
            "{what}"
        );
    }
    assert_ne!(accepts(&house, &name).await, true);
}
