//! Transcripts of kubectl and `berth`: commands and their output.
//!
//! ```text
//! $ kubectl create configmap one --from-literal=key=value
//! configmap/one created
//! $ kubectl apply -f - <<EOF
//! {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
//! EOF
//! configmap/one configured
//! $ KUBE_EDITOR='sed -i s/value/other/' kubectl edit configmap one
//! configmap/one edited
//! $ kubectl get configmap two
//! Error from server (NotFound): configmaps "two" not found
//! ? 1
//! ```
//!
//! The output is stdout, then stderr. `[..]` stands for any text within a line, a line `...` for any lines, and `{name}` for the
//! value that the [`Stage`] has under that name. `? 1` is an exit code other than 0. Empty lines at the end do not count. A line
//! of JSON may have its fields in any order. All commands run before their output is compared, so that one run shows all
//! differences. A transcript with kubectl commands is skipped, with a message, if kubectl is not installed.

use crate::cluster::{Output, Person, finish, kubectl_is_there};

/// client-go's warning of a watch that ended within a second without an event. A `kubectl wait --timeout=1s` prints it if its list
/// took long enough.
const SHORT_WATCH: &str = "very short watch: ";

/// The user of a transcript, the namespace, and the values of names.
pub struct Stage<'p> {
    person: &'p Person,
    namespace: String,
    names: Vec<(String, String)>,
}

/// A command of a transcript.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scene {
    command: String,
    stdin: String,
    expected: Vec<String>,
    code: i32,
}

impl<'p> Stage<'p> {
    /// A stage for commands of this user; kubectl uses this namespace.
    pub fn new(person: &'p Person, namespace: &str) -> Self {
        let stage = Self {
            person,
            namespace: namespace.to_owned(),
            names: Vec::new(),
        };
        stage.with("ns", namespace)
    }

    /// Sets the value of `{name}`.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.names.push((format!("{{{name}}}"), value.to_owned()));
        self
    }

    /// Runs each command, and compares its output with the transcript.
    ///
    /// # Panics
    /// With all differences.
    #[track_caller]
    pub fn plays(self, transcript: &str) -> impl Future<Output = ()> {
        let transcript = self
            .names
            .iter()
            .fold(transcript.to_owned(), |text, (name, value)| {
                text.replace(name, value)
            });
        let caller = std::panic::Location::caller();
        async move {
            let scenes = scenes(&transcript);
            let kubectl = scenes
                .iter()
                .any(|scene| program(&words(&scene.command)).1 == "kubectl");
            if kubectl && !kubectl_is_there() {
                return;
            }
            let mut differences = String::new();
            for (index, scene) in scenes.iter().enumerate() {
                let output = self.perform(scene).await;
                let said = format!("{}{}", output.stdout, output.stderr);
                let said = said.trim_end().lines().map(str::trim_end);
                let said: Vec<&str> = said.filter(|line| !line.contains(SHORT_WATCH)).collect();
                if output.code != scene.code || !matches(&scene.expected, &said) {
                    differences += &format!(
                        "\nat command {}:\n$ {}\n--- expected ({})\n{}\n+++ said ({})\n{}\n",
                        index + 1,
                        scene.command,
                        scene.code,
                        scene.expected.join("\n"),
                        output.code,
                        said.join("\n"),
                    );
                }
            }
            assert!(
                differences.is_empty(),
                "the transcript at {caller} differs:{differences}(end)"
            );
        }
    }

    async fn perform(&self, scene: &Scene) -> Output {
        let words = words(&scene.command);
        let (at, program) = program(&words);
        let (settings, args) = (&words[..at], words[at + 1..].iter().map(String::as_str));
        let mut command = if program == "kubectl" {
            let args: Vec<_> = ["-n", &self.namespace].into_iter().chain(args).collect();
            self.person.kubectl_command(&args)
        } else {
            self.person.berth_command(&args.collect::<Vec<_>>())
        };
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap();
            command.env(name, value);
        }
        finish(command, &scene.stdin).await
    }
}

fn scenes(transcript: &str) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    let mut lines = transcript.trim_start_matches('\n').lines();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let mut scene = Scene {
                command: command.to_owned(),
                ..Scene::default()
            };
            if let Some(command) = command.strip_suffix(" <<EOF") {
                command.clone_into(&mut scene.command);
                for line in lines.by_ref().take_while(|line| *line != "EOF") {
                    scene.stdin += &format!("{line}\n");
                }
            }
            scenes.push(scene);
            continue;
        }
        let scene = scenes
            .last_mut()
            .expect("a transcript begins with a command");
        match line.strip_prefix("? ") {
            Some(code) => scene.code = code.parse().unwrap(),
            None => scene.expected.push(line.trim_end().to_owned()),
        }
    }
    for scene in &mut scenes {
        let lines = scene.expected.iter().rposition(|line| !line.is_empty());
        scene.expected.truncate(lines.map_or(0, |last| last + 1));
    }
    scenes
}

/// The program that a command line starts, and its position in the line.
fn program(words: &[String]) -> (usize, &str) {
    let is_program = |word: &&str| ["kubectl", "berth"].contains(word);
    let mut words = words.iter().map(String::as_str).enumerate();
    words
        .find(|(_, word)| is_program(word))
        .unwrap_or_else(|| panic!("neither kubectl nor berth is called"))
}

/// The words of a command line; quotes keep them together.
pub fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(end)) if c == end => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    assert!(quote.is_none(), "a quote stays open: {line}");
    words.extend(word);
    words
}

/// Returns true if the lines are as expected; `...` stands for any lines, `[..]` for any text.
pub fn matches(expected: &[String], said: &[&str]) -> bool {
    match expected.split_first() {
        None => said.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=said.len()).any(|skipped| matches(rest, &said[skipped..]))
        }
        Some((first, rest)) => said
            .split_first()
            .is_some_and(|(line, said)| line_matches(first, line) && matches(rest, said)),
    }
}

fn line_matches(expected: &str, said: &str) -> bool {
    match (sorted(expected), sorted(said)) {
        (Some(expected), Some(said)) => text_matches(&expected, &said),
        _ => text_matches(expected, said),
    }
}

/// A JSON object with its fields sorted.
fn sorted(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value.is_object().then(|| value.to_string())
}

fn text_matches(expected: &str, said: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == said,
        Some((start, rest)) => said.strip_prefix(start).is_some_and(|said| {
            let ends = said.char_indices().map(|(at, _)| at).chain([said.len()]);
            ends.into_iter().any(|at| text_matches(rest, &said[at..]))
        }),
    }
}

#[test]
fn a_transcript_is_commands_with_what_they_said() {
    let text = "\n$ kubectl a -f - <<EOF\nin\nEOF\nsaid  \n\n? 1\n$ X='y z' kubectl b\n";
    let first = Scene {
        command: "kubectl a -f -".to_owned(),
        stdin: "in\n".to_owned(),
        expected: vec!["said".to_owned()],
        code: 1,
    };
    let second = Scene {
        command: "X='y z' kubectl b".to_owned(),
        ..Scene::default()
    };
    assert_eq!(scenes(text), [first, second]);
    assert_eq!(
        words("X='y z' kubectl  b ''"),
        ["X=y z", "kubectl", "b", ""]
    );
}

#[test]
fn wildcards_stand_for_parts_of_lines_and_for_lines() {
    let expected = ["a[..]c".to_owned(), "...".to_owned(), "end".to_owned()];
    assert!(matches(&expected, &["abc", "end"]));
    assert!(matches(&expected, &["acc", "", "x", "end"]));
    assert!(!matches(&expected, &["ab", "end"]));
    assert!(!matches(&expected, &["abc", "end", "x"]));
    let expected = [r#"{"a":"[..]","b":1}"#.to_owned()];
    assert!(matches(&expected, &[r#"{"b":1,"a":"x"}"#]));
    assert!(!matches(&expected, &[r#"{"b":2,"a":"x"}"#]));
}
