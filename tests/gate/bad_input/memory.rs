//! The memory that one body can take. The process runs under the memory limit of the manifests, and the kernel reports its
//! peak. A well-behaved client sends reviews during each attack.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use berth_review::Webhook;
use berth_webhooks::LARGEST_BODY;
use berth_webhooks::shipped;
use serde_json::{Value, json};
use tempfile::TempDir;

use berth_testkit::reviews::{PATH, UID, text, with};
use berth_testkit::{Gate, post, recorded, repository, response, send, where_to_serve};

/// The limit of the Deployment, in KiB.
const LIMIT: usize = 512 * 1024;

/// What a body may cost, in KiB. (A build for debugging is no larger in what it keeps on the heap.)
const MOST: usize = 30 * 1024;

/// How long a small review may take beside an attack. It takes less than a millisecond alone; this is a build for debugging
/// on a machine that does other things, and still far less than large bodies take here.
const PATIENCE: Duration = Duration::from_secs(3);

/// The gate under the memory limit of the manifests.
pub(crate) fn limited() -> Gate {
    let certs = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -d {LIMIT}; exec \"$0\" \"$@\""),
            berth_testkit::program().to_str().unwrap(),
            "webhook-server",
        ])
        .args(["--self-signed", "--hub-files"])
        .arg(repository("examples/hub"))
        .args(where_to_serve(certs.path()));
    for (name, value) in shipped_environment() {
        command.env(name, value);
    }
    Gate::run(command, certs)
}

/// What the image sets for the allocator.
fn shipped_environment() -> Vec<(String, String)> {
    let containerfile = std::fs::read_to_string(repository("Containerfile")).unwrap();
    let lines = containerfile.lines();
    let set: Vec<_> = lines
        .filter_map(|line| line.strip_prefix("ENV ")?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    assert!(!set.is_empty(), "{containerfile}");
    set
}

/// Measures how much memory the process takes at most, from now on.
pub(crate) struct Peak {
    process: PathBuf,
    before: usize,
}

impl Peak {
    pub(crate) fn begin(gate: &Gate) -> Self {
        let process = PathBuf::from(format!("/proc/{}", gate.child.id()));
        // The most that was resident begins anew.
        std::fs::write(process.join("clear_refs"), "5").unwrap();
        let before = status(&process, "VmRSS");
        Self { process, before }
    }

    /// In KiB, more than at the beginning.
    pub(crate) fn grown(&self) -> usize {
        status(&self.process, "VmHWM").saturating_sub(self.before)
    }

    /// What is resident now, more than at the beginning.
    fn kept(&self) -> usize {
        status(&self.process, "VmRSS").saturating_sub(self.before)
    }
}

fn status(process: &std::path::Path, name: &str) -> usize {
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let value = line.unwrap().trim_start_matches(':').trim();
    value.split(' ').next().unwrap().parse().unwrap()
}

/// One body, where it is sent, and how it is answered.
struct Attack {
    sentence: &'static str,
    webhook: Webhook,
    body: String,
    code: u64,
    /// Where it is in the message; empty for what is allowed.
    words: &'static str,
}

/// As many of the items as fit into so many bytes, with commas.
fn filled(item: &str, bytes: usize) -> String {
    let mut list = String::with_capacity(bytes);
    while list.len() + item.len() + 1 < bytes {
        list.push_str(item);
        list.push(',');
    }
    list.pop();
    list
}

/// The recorded review with a text in place of a field.
fn with_text(pointer: &str, text: &str) -> String {
    const HERE: &str = "put it here";
    let mut review: Value = serde_json::from_str(&berth_testkit::reviews::text()).unwrap();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    review.pointer_mut(parent).unwrap()[field] = HERE.into();
    review.to_string().replace(&format!("{HERE:?}"), text)
}

fn set_with(selector: &str) -> String {
    let mut review: Value =
        serde_json::from_slice(&recorded("set-selector-bad-operator.record.json")).unwrap();
    review["request"]["object"]["spec"]["clusterSelector"] =
        json!({ "selectorType": "LabelSelector", "labelSelector": "put it here" });
    review.to_string().replace("\"put it here\"", selector)
}

/// The review of a new ManifestWork with this spec.
fn work_with(spec: &str) -> String {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "resource": { "group": "work.open-cluster-management.io", "version": "v1", "resource": "manifestworks" },
            "operation": "CREATE",
            "name": "w",
            "namespace": "c1",
            "userInfo": { "username": "bob" },
            "object": {
                "apiVersion": "work.open-cluster-management.io/v1",
                "kind": "ManifestWork",
                "metadata": { "name": "w", "namespace": "c1" },
                "spec": "put it here",
            },
        },
    });
    review.to_string().replace("\"put it here\"", spec)
}

/// A spec with these manifests.
fn manifests(manifests: &str) -> String {
    format!(r#"{{"workload":{{"manifests":[{manifests}]}}}}"#)
}

/// Reviews of ManifestWorks.
fn works(room: usize) -> Vec<Attack> {
    let many = |sentence, spec: &str, words| Attack {
        sentence,
        webhook: Webhook::ValidateWork,
        body: work_with(spec),
        code: 400,
        words,
    };
    let long = "n".repeat(800);
    let named = format!(
        r#"{{"apiVersion":"{long}","kind":"{long}","metadata":{{"name":"{long}","namespace":"{long}"}}}}"#
    );
    let unnamed = format!(r#"{{"data":"{}"}}"#, "n".repeat(600));
    let rule = format!(
        r#"{{"resourceIdentifier":{{"name":"*{}"}},"conditionRules":[{{"type":"CEL","condition":"Applied"}}]}}"#,
        "n".repeat(400)
    );
    vec![
        many(
            "manifests",
            &manifests(&filled("{}", room)),
            "spec: Too many manifests",
        ),
        many(
            "manifests within their limit",
            &manifests(&filled(&unnamed, 9_999 * (unnamed.len() + 1))),
            "name must be set in manifest",
        ),
        many(
            "the same manifest with long names",
            &manifests(&filled(&named, room)),
            "duplicate manifest for resource nnn",
        ),
        many(
            "a manifest of many fields",
            &manifests(&format!(r#"{{"data":[{}]}}"#, filled(r#"{"a":1}"#, room))),
            "the size of manifests is",
        ),
        many(
            "rules for manifests",
            &format!(r#"{{"manifestConfigs":[{}]}}"#, filled(&rule, room)),
            "spec: Too many manifestConfigs",
        ),
        many(
            "rules for manifests within their limit",
            &format!(
                r#"{{"manifestConfigs":[{}]}}"#,
                filled(&rule, 4_999 * (rule.len() + 1))
            ),
            "the agent sets the condition of this name itself",
        ),
        many(
            "paths of a rule",
            &format!(
                r#"{{"manifestConfigs":[{{"feedbackRules":[{{"type":"JSONPaths","jsonPaths":[{}]}}]}}]}}"#,
                filled(r#"{"name":"a"}"#, room)
            ),
            "spec: Too many jsonPaths",
        ),
    ]
}

fn attacks() -> Vec<Attack> {
    const MIB: usize = 1024 * 1024;
    let (mutate, validate) = (Webhook::MutateCluster, Webhook::ValidateCluster);
    let room = LARGEST_BODY - 16 * 1024;
    let taints = |item: &str, bytes| {
        with_text(
            "/request/object/spec/taints",
            &format!("[{}]", filled(item, bytes)),
        )
    };
    let configs = |item: &str, bytes| {
        let list = format!("[{}]", filled(item, bytes));
        with_text("/request/object/spec/managedClusterClientConfigs", &list)
    };
    let labels = |bytes| {
        let labels: Vec<_> = (0..bytes / 15)
            .map(|i| format!(r#""l{i:07}":"""#))
            .collect();
        with_text(
            "/request/object/metadata/labels",
            &format!("{{{}}}", labels.join(",")),
        )
    };
    let both = |list: &str, other: &str| {
        with(|request| {
            request["object"]["spec"]["taints"] = "here".into();
            request["oldObject"]["spec"]["taints"] = "there".into();
        })
        .replace("\"here\"", list)
        .replace("\"there\"", other)
    };
    let asking = |pointer: &str, text: &str| {
        with_text(pointer, text).replacen(
            r#""hubAcceptsClient":true"#,
            r#""hubAcceptsClient":false"#,
            1,
        )
    };
    let expression = |values: &str| {
        format!(r#"{{"matchExpressions":[{{"key":"k","operator":"In","values":[{values}]}}]}}"#)
    };
    let many = |sentence, webhook, body, code, words| Attack {
        sentence,
        webhook,
        body,
        code,
        words,
    };
    let mut attacks = works(room);
    attacks.extend([
        many(
            "3 MB of taints, mutating",
            mutate,
            taints("{}", 3 * MIB),
            400,
            "spec.taints: Too many",
        ),
        many(
            "3 MB of taints",
            validate,
            taints("{}", 3 * MIB),
            400,
            "spec.taints: Too many",
        ),
        many(
            "7 MB of taints",
            mutate,
            taints("{}", room),
            400,
            "spec.taints: Too many",
        ),
        many(
            "7 MB of taints with a time each",
            mutate,
            taints(r#"{"key":"k","timeAdded":"2020-01-01T00:00:00Z"}"#, room),
            400,
            "spec.taints: Too many",
        ),
        many(
            "7 MB of client configs",
            validate,
            configs("{}", room),
            400,
            "spec.managedClusterClientConfigs: Too many",
        ),
        many(
            "7 MB of client configs, mutating",
            mutate,
            configs("{}", room),
            400,
            "spec.managedClusterClientConfigs: Too many",
        ),
        many(
            "a thousand URLs of 7 KB",
            validate,
            configs(
                &format!(r#"{{"url":"http://{}"}}"#, "\u{7f}".repeat(7_400)),
                room,
            ),
            400,
            "is invalid in client configs",
        ),
        many(
            "taints on both sides, that differ",
            mutate,
            both(
                &format!("[{}]", filled("{}", 3 * MIB)),
                &format!("[{}]", filled(r#"{"a":1}"#, 3 * MIB)),
            ),
            400,
            "spec.taints: Too many",
        ),
        many(
            "stored taints that stay",
            validate,
            both(
                &format!("[{}]", filled("{}", 3 * MIB)),
                &format!("[{}]", filled("{}", 3 * MIB)),
            ),
            200,
            "",
        ),
        many(
            "values of an expression",
            Webhook::ValidateClusterSet,
            set_with(&expression(&filled(r#""""#, room))),
            400,
            "Too many values",
        ),
        many(
            "bad values of an expression",
            Webhook::ValidateClusterSet,
            set_with(&expression(&filled(r#""!!""#, room))),
            400,
            "Too many values",
        ),
        many(
            "bad values of 760 bytes",
            Webhook::ValidateClusterSet,
            set_with(&expression(&filled(
                &format!("\"{}\"", "!".repeat(760)),
                room,
            ))),
            400,
            "... and",
        ),
        many(
            "expressions",
            Webhook::ValidateClusterSet,
            set_with(&format!(
                r#"{{"matchExpressions":[{}]}}"#,
                filled("{}", room)
            )),
            400,
            "Too many requirements",
        ),
        many("labels", mutate, labels(room), 400, "Too large: "),
        many(
            "labels that have escapes",
            mutate,
            with_text(
                "/request/object/metadata/labels",
                &format!(r#"{{"a":"\n{}"}}"#, "x".repeat(room)),
            ),
            400,
            "Too large: ",
        ),
        many(
            "groups",
            validate,
            asking(
                "/request/userInfo/groups",
                &format!("[{}]", filled(r#""""#, room)),
            ),
            400,
            "larger than 1048576 bytes",
        ),
        many(
            "extra",
            validate,
            asking(
                "/request/userInfo/extra",
                &format!(r#"{{"k":[{}]}}"#, filled(r#""""#, room)),
            ),
            400,
            "larger than 1048576 bytes",
        ),
        many(
            "groups where nobody asks for them",
            validate,
            with_text(
                "/request/userInfo/groups",
                &format!("[{}]", filled(r#""""#, room)),
            ),
            200,
            "",
        ),
        many(
            "a user name",
            validate,
            asking(
                "/request/userInfo/username",
                &format!(r#""\n{}""#, "x".repeat(room)),
            ),
            400,
            "larger than 1048576 bytes",
        ),
        many(
            "deep nesting",
            validate,
            with_text(
                "/request/object/spec/future",
                &format!("{}{}", "[".repeat(room / 2), "]".repeat(room / 2)),
            ),
            200,
            "",
        ),
        many(
            "text for a spec",
            validate,
            with_text(
                "/request/object/spec",
                &format!("\"{}\"", "\u{7f}".repeat(room)),
            ),
            400,
            "invalid type: string",
        ),
        many(
            "text for taints",
            mutate,
            with_text(
                "/request/object/spec/taints",
                &format!("\"{}\"", "\u{7f}".repeat(room)),
            ),
            400,
            "invalid type: string",
        ),
        many(
            "text for acceptance",
            validate,
            with_text(
                "/request/object/spec/hubAcceptsClient",
                &format!("\"{}\"", "\u{7f}".repeat(room)),
            ),
            400,
            "invalid type: string",
        ),
        many(
            "a key without end and a wrong value",
            validate,
            with_text(
                "/request/object/metadata/labels",
                &format!("{{\"{}\":1}}", "\u{7f}".repeat(room)),
            ),
            400,
            "invalid type: integer",
        ),
        many(
            "a name with escapes, three times",
            validate,
            {
                let name = format!(r#""\n{}""#, "x".repeat(room / 3));
                with(|request| {
                    request["name"] = "here".into();
                    request["object"]["metadata"]["name"] = "here".into();
                    request["oldObject"]["metadata"]["name"] = "here".into();
                    request["object"]["spec"]["hubAcceptsClient"] = false.into();
                })
                .replace("\"here\"", &name)
            },
            403,
            "cannot update the HubAcceptsClient field",
        ),
        many(
            "the same taint over and over",
            validate,
            taints(r#"{"key":"k","effect":"NoSelect"}"#, room),
            400,
            "spec.taints: Too many",
        ),
        many(
            "the same field over and over",
            validate,
            with_text(
                "/request/object/spec",
                &format!("{{{}}}", filled(r#""taints":[]"#, room)),
            ),
            400,
            "duplicate field `taints`",
        ),
    ]);
    attacks
}

/// Sends small reviews one after the other, on one connection each, until told to stop; how many, and the longest wait.
async fn goes_on(gate: Arc<Gate>, stop: Arc<AtomicBool>) -> (usize, Duration) {
    let (mut count, mut longest) = (0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answer = gate.review(PATH, text()).await;
        longest = longest.max(begun.elapsed());
        assert_eq!(response(&answer)["allowed"], true);
        let health = gate.get(gate.health_port, "/healthz").await;
        assert_eq!(health.status(), 200);
        count += 1;
    }
    (count, longest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_body_costs_more_than_30_mib_or_holds_up_others() {
    let gate = Arc::new(limited());
    // What is allocated once is there.
    for _ in 0..20 {
        gate.review(PATH, text()).await;
    }
    let mut table = String::new();
    let whole = Peak::begin(&gate);
    for attack in attacks() {
        let Attack {
            sentence,
            webhook,
            body,
            code,
            words,
        } = attack;
        assert!(
            body.len() < LARGEST_BODY && body.len() > 2 << 20,
            "{sentence}: {}",
            body.len()
        );
        let stop = Arc::new(AtomicBool::new(false));
        let good = tokio::spawn(goes_on(Arc::clone(&gate), Arc::clone(&stop)));
        let peak = Peak::begin(&gate);
        let request = post(&format!("{}?timeout=30s", shipped(webhook).path), body);
        let answer = send(gate.tls().await, request).await;
        let grown = peak.grown();
        stop.store(true, Ordering::Relaxed);
        let (count, longest) = good.await.unwrap();
        assert!(
            answer.body().len() < 64 * 1024,
            "{sentence}: {} bytes",
            answer.body().len()
        );
        let answer: Value = serde_json::from_slice(answer.body()).unwrap();
        let status = &response(&answer)["status"];
        assert_eq!(status["code"], code, "{sentence}: {status}");
        assert_eq!(response(&answer)["uid"], uid_of(webhook), "{sentence}");
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{sentence}: {message}");
        table.push_str(&format!(
            "{sentence}: {} KiB at most, {} KiB kept; {count} small reviews beside it, the slowest in {longest:?}\n",
            grown,
            peak.kept(),
        ));
        assert!(grown < MOST, "{sentence}: {grown} KiB\n{table}");
        assert!(longest < PATIENCE, "{sentence}: {longest:?}\n{table}");
    }
    let kept = whole.kept();
    println!("{table}all of it: {kept} KiB kept");
    assert!(kept < MOST, "memory goes back: {kept} KiB\n{table}");
    let lines = gate.log();
    let longest = lines.iter().map(|line| line.to_string().len()).max();
    assert!(longest.unwrap() < 8 * 1024, "{longest:?}");
}

/// The uid of the review that is sent to a webhook here.
fn uid_of(webhook: Webhook) -> Value {
    if webhook == Webhook::ValidateClusterSet {
        let review = recorded("set-selector-bad-operator.record.json");
        let review: Value = serde_json::from_slice(&review).unwrap();
        return review["request"]["uid"].clone();
    }
    UID.into()
}
