//! `berth demo` as a new user runs it: its steps, the hub that it keeps open, and the end, which leaves no files or
//! processes.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

mod story;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use berth_testkit::{berth, eventually_blocking};

/// What the play is about, in its order: how it goes on after each command.
const PLAY: [&str; 49] = [
    "CSRPending: CertificateSigningRequest c1-",
    "Error from server (Forbidden): admission webhook \"managedclustervalidators.admission.cluster.open-cluster-management.io\" denied the request: managedclusters/accept.cluster.open-cluster-management.io \"c1\" is forbidden: user \"dev\" cannot update the HubAcceptsClient field: ",
    "managedcluster.cluster.open-cluster-management.io/c1 patched",
    "rolebinding.rbac.authorization.k8s.io/open-cluster-management:managedcluster:c1:registration",
    "rolebinding.rbac.authorization.k8s.io/open-cluster-management:managedcluster:c1:work",
    "lease.coordination.k8s.io/managed-cluster-lease",
    "certificatesigningrequest.certificates.k8s.io/c1-",
    "Managed cluster joined",
    "Managed cluster is available",
    "id.k8s.io: c1",
    "region.example.com: north",
    "client certificate rotated starting from 20",
    "managedcluster/c1 tainted",
    "[{\"effect\":\"NoSelect\",\"key\":\"maintenance\",\"timeAdded\":\"",
    "Error from server (Forbidden): admission webhook \"managedclustervalidators.admission.cluster.open-cluster-management.io\" denied the request: managedclustersets/join.cluster.open-cluster-management.io \"default\" is forbidden: user \"dev\" cannot add/remove a ManagedCluster to/from ManagedClusterSet \"default\": ",
    "managedcluster.cluster.open-cluster-management.io/c1 labeled",
    "Error from server (Forbidden): error when creating \"binding.yaml\": admission webhook \"managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io\" denied the request: managedclustersets/bind.cluster.open-cluster-management.io \"prod\" is forbidden: user \"dev\" is not allowed to bind cluster set \"prod\": ",
    "managedclustersetbinding.cluster.open-cluster-management.io/prod created",
    "Error from server (Forbidden): error when creating \"STDIN\": admission webhook \"managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io\" denied the request: managedclustersetbindings.cluster.open-cluster-management.io \"prod\" is forbidden: namespace \"c1\" belongs to the accepted ManagedCluster \"c1\"",
    "managedcluster.cluster.open-cluster-management.io/c2 patched",
    "certificatesigningrequest.certificates.k8s.io/c2-",
    "Managed cluster is available []",
    "managedcluster.cluster.open-cluster-management.io/c2 labeled",
    "placement.cluster.open-cluster-management.io/app created",
    "c2",
    "manifestworkreplicaset.work.open-cluster-management.io/app created",
    "hello",
    "configmap/greeting patched",
    "hello",
    "managedcluster/c1 untainted",
    "Registration agent stopped updating its lease. [cluster.open-cluster-management.io/unreachable]",
    "c1",
    "hello",
    "c1        selected   1 ",
    "c2        tainted    -      -       -       -                taint cluster.open-cluster-management.io/unreachable is not tolerated",
    "Managed cluster is available []",
    "ClusterManagementAddOn hello is created",
    "Deploying hello add-on to namespaces open-cluster-management-agent-addon of managed cluster: c1.",
    "c1",
    "kubeconfig",
    "hello add-on is available.",
    "Undeploying hello add-on in managed cluster: c1.",
    "managedcluster.cluster.open-cluster-management.io/c1 patched",
    "[+]hub ok: waiting: the hub does not accept ManagedCluster c1: on the hub, run `berth accept c1`",
    "Error from server (Forbidden): leases.coordination.k8s.io is forbidden: User \"system:open-cluster-management:c1:agent\" cannot list resource \"leases\"",
    "managedcluster.cluster.open-cluster-management.io/c1 patched",
    "[+]hub ok: managed",
    "managedcluster.cluster.open-cluster-management.io \"c2\" deleted",
    "[+]hub ok: waiting: ManagedCluster c2 does not exist on the hub: ",
];

/// `berth demo`, whose temporary files go into this folder.
fn demo(temporary: &Path, args: &[&str]) -> Command {
    let mut command = berth(&["demo"]);
    command
        .args(args)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

fn stop(child: &mut Child, signal: Signal) -> i32 {
    kill_process(Pid::from_child(child), signal).unwrap();
    let status = eventually_blocking("the end of the demo", || {
        child.try_wait().unwrap().ok_or("it still runs")
    });
    status.code().unwrap_or(-1)
}

#[test]
fn the_play_shows_who_may_do_what_and_leaves_nothing_behind() {
    let temporary = TempDir::new().unwrap();
    let output = demo(temporary.path(), &["--exit"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(
        !said.contains('\u{1b}'),
        "colours only on a terminal: {said}"
    );
    let mut lines = said.lines().map(str::trim_start);
    for wanted in PLAY {
        assert!(
            lines.any(|line| line.starts_with(wanted)),
            "{wanted}\nis not in its place in\n{said}"
        );
    }
    let filled_in =
        "   .metadata.labels: {\"cluster.open-cluster-management.io/clusterset\":\"default\"}";
    assert!(said.contains(filled_in), "{filled_in}\nis not in\n{said}");
    assert!(is_empty(temporary.path()));
}

#[test]
fn the_page_shows_the_play_as_it_is() {
    // Ports, times and the names of requests are of the day. The name of a request ends with 16 hexadecimal digits.
    let without_numbers = |text: &str| {
        let mut shown = String::new();
        for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let digits = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
                shown.push('0');
                shown.push_str(&word[digits.len()..]);
                continue;
            }
            for letter in word.chars() {
                match letter {
                    '0'..='9' if shown.ends_with('0') => {}
                    '0'..='9' => shown.push('0'),
                    letter => shown.push(letter),
                }
            }
        }
        shown
    };
    let temporary = TempDir::new().unwrap();
    let output = demo(temporary.path(), &["--exit"]).output().unwrap();
    let said = without_numbers(&String::from_utf8(output.stdout).unwrap());
    let page = fs::read_to_string(berth_testkit::repository("docs/demo.md")).unwrap();
    let shown = page.split_once("```console\nA hub is up").unwrap().1;
    let shown = format!("A hub is up{}", shown.split_once("```").unwrap().0);
    assert_eq!(
        without_numbers(&shown),
        said,
        "copy what `berth demo --exit` prints"
    );
}

#[test]
fn a_port_that_is_taken_is_an_error_that_names_it() {
    let temporary = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = demo(temporary.path(), &["--exit", "--port", &port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let wanted =
        format!("Error: --port: cannot listen on 127.0.0.1:{port}: Address already in use");
    assert!(said.starts_with(&wanted), "{said}");
    assert!(is_empty(temporary.path()));
}

#[test]
fn the_hub_stays_up_for_commands_that_can_be_pasted_until_it_is_told_to_stop() {
    for signal in [Signal::INT, Signal::TERM] {
        let temporary = TempDir::new().unwrap();
        let mut command = demo(temporary.path(), &[]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (said, mut rest) = until_people_are_introduced(&mut child);
        let (host, code) = console(&mut rest);
        assert_eq!(signs_in(&host, &code), "ada");
        what_is_typed_is_done(&mut child, &mut rest);
        let commands: Vec<_> = said
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| {
                ["cd ", "export ", "kubectl ", "curl "]
                    .iter()
                    .any(|name| line.starts_with(name))
            })
            .collect();
        assert_eq!(commands.len(), 9, "{said}");
        assert!(said.contains("\n  berth console --context dev\n"), "{said}");
        if let Some(kubectl) = kubectl() {
            paste(&kubectl, temporary.path(), &commands);
        }
        assert_eq!(stop(&mut child, signal), 0);
        assert!(is_empty(temporary.path()));
        // The console has ended with the demo.
        assert!(TcpStream::connect(&host).is_err());
    }
}

/// Types lines, and compares the next line that each prints.
fn what_is_typed_is_done(child: &mut Child, lines: &mut impl BufRead) {
    let mut next = || {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        line.trim().to_owned()
    };
    let told = "It signs one browser in, within 2 minutes. Enter prints another address, Ctrl-C ends the console.";
    assert_eq!(next(), told);
    let unknown = "\"start c4\" is not known. Type \"stop NAME\" or \"start NAME\" for the agent of a cluster (c1, c2, c3), or only Enter for another address.";
    for (typed, said) in [
        ("stop c3", "The agent of c3 has stopped."),
        ("stop c3", "The agent of c3 has stopped."),
        ("start c3", "The agent of c3 runs."),
        ("start c3", "The agent of c3 runs."),
        ("start c4", unknown),
    ] {
        writeln!(child.stdin.as_ref().unwrap(), "{typed}").unwrap();
        assert_eq!(next(), said);
    }
    writeln!(child.stdin.as_ref().unwrap()).unwrap();
    assert!(next().starts_with("http://127.0.0.1:"));
    assert_eq!(next(), told);
}

/// The host and the one-time code of the console's address, which is printed last.
fn console(lines: &mut impl BufRead) -> (String, String) {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it has ended");
        let address = line.trim().strip_prefix("http://");
        if let Some((host, code)) = address.and_then(|it| it.split_once("/#code=")) {
            return (host.to_owned(), code.to_owned());
        }
    }
}

/// Trades the code for a session, and returns the user of the console.
fn signs_in(host: &str, code: &str) -> String {
    // By HTTP/1.0 a body ends with its connection.
    let ask = |request: &str, headers: &str, body: &str| {
        let mut tcp = TcpStream::connect(host).unwrap();
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.0\r\nhost: {host}\r\n{headers}content-length: {length}\r\n\r\n"
        );
        tcp.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("GET /", "", "");
    assert!(page.contains(" 200 ") && page.contains("<html"), "{page}");
    let written = "content-type: application/json\r\nx-berth-console: 1\r\n";
    let body = serde_json::json!({"code": code}).to_string();
    let answer = ask("POST /api/session", written, &body);
    assert!(answer.contains(" 204 "), "{answer}");
    let mut lines = answer.lines();
    let cookie = lines
        .find_map(|it| it.strip_prefix("set-cookie: ")?.split(';').next())
        .unwrap();
    let answer = ask("GET /api/session", &format!("cookie: {cookie}\r\n"), "");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let session: serde_json::Value = serde_json::from_str(body).unwrap();
    session["user"].as_str().unwrap().to_owned()
}

/// Everything up to the last of them, and what there is to come.
fn until_people_are_introduced(child: &mut Child) -> (String, BufReader<ChildStdout>) {
    let mut said = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !said.contains("\n  c3 ") {
        let length = said.len();
        lines.read_line(&mut said).unwrap();
        if said.len() == length {
            let mut error = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut error)
                .unwrap();
            panic!("ended: {said}{error}");
        }
    }
    (said, lines)
}

/// kubectl, if there is one that is new enough; says so if not.
fn kubectl() -> Option<String> {
    let program = std::env::var("KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
    let is_new = is_new_enough(&program);
    if !is_new {
        eprintln!("SKIPPED: there is no kubectl 1.28 or newer for the commands of the demo");
    }
    is_new.then_some(program)
}

fn is_new_enough(kubectl: &str) -> bool {
    let version = Command::new(kubectl)
        .args(["version", "--client", "-o", "json"])
        .output();
    let version = version.map(|it| serde_json::from_slice(&it.stdout).unwrap_or_default());
    let version: serde_json::Value = version.unwrap_or_default();
    let minor = version["clientVersion"]["minor"]
        .as_str()
        .unwrap_or_default();
    let minor = minor.trim_end_matches(|c: char| !c.is_ascii_digit());
    minor.parse::<u32>().is_ok_and(|minor| minor >= 28)
}

/// Runs the commands in one shell, one after the other, as a newcomer does.
fn paste(kubectl: &str, home: &Path, commands: &[&str]) {
    let run = |wanted: &[&str]| {
        let chosen = commands.iter().filter(|command| {
            command.starts_with("cd ")
                || command.starts_with("export ")
                || wanted.iter().any(|part| command.contains(part))
        });
        let script: Vec<_> = chosen.copied().collect();
        // One that watches would go on for ever.
        let script = format!(
            "kubectl() {{ command {kubectl} --request-timeout=20s \"$@\"; }}\n{}",
            script.join("\n")
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("HOME", home)
            .env("KUBECACHEDIR", home.join("cache"))
            .env_remove("KUBECONFIG")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, said, complaints) = run(&[
        "managedclusters,managedclustersets",
        "get managedclustersetbindings",
    ]);
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
    for shown in ["/c1 ", "/default ", "/prod ", "team-a "] {
        assert!(said.contains(shown), "{shown}\nis not in\n{said}");
    }
    let (code, said, complaints) = run(&["--context c1 get"]);
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
    for shown in ["/id.k8s.io ", "/open-cluster-management-agent "] {
        assert!(said.contains(shown), "{shown}\nis not in\n{said}");
    }
    let (code, said, complaints) = run(&["patch managedcluster"]);
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(
        complaints.contains("user \"dev\" cannot update the HubAcceptsClient field"),
        "{complaints}"
    );
    let (code, said, _) = run(&["auth can-i"]);
    assert_eq!((code, said.as_str()), (Some(0), "yes\n"));
    // kubectl's cache of the hub's kinds.
    let _ = fs::remove_dir_all(home.join("cache"));
    let _ = fs::remove_dir_all(home.join(".kube"));
}
