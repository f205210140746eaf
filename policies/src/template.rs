//! Fills in the placeholders of snippets.
//!
//! A placeholder is `{{word}}` or `{{word argument | argument}}`. Arguments may contain placeholders. Words are
//! - paths of other snippets: `{{guards/taints}}`;
//! - constants, in capitals: `{{CLUSTER_SET}}`;
//! - `say`, for a sentence of the rules (`crate::sentence`), and `allowed`, for a permission of the rules;
//! - fragments that several expressions share, because CEL has no functions: `{{set list}}`.

use berth_api::reserved::{self, Reservation};
use berth_api::{agents, labels};
use berth_rules::object::{LONGEST_LIST, MOST_VALUES};
use berth_rules::sentences::faults;
use berth_rules::{LARGEST_ACCEPTED, LARGEST_WAITING, LONGEST_LEASE, OURS, Permission};

use crate::options::{Mode, Options};
use crate::sentence::{self, literal, quoted};
use crate::snippets::Snippet;

/// The maximum number of faults in a message. The others are counted.
const MOST_FAULTS: usize = 20;

/// The maximum number of characters of a message. The API server replaces messages of more than 5 KiB.
const LONGEST_MESSAGE: usize = 4_900;

/// The length of the chunks in which long lists are sorted: the API server charges the square of the length.
const CHUNK: usize = 100;

/// The maximum number of requirements and values of selectors that are compared. Changes of larger selectors count as wider.
const MOST_COMPARED: usize = 400;

/// The webhook is called about an update if the cluster has more characters of text than this: a character has at most four bytes, and the
/// webhook counts bytes.
const MUCH_TEXT: usize = LARGEST_WAITING / 4;

/// Fills in placeholders, for some options.
pub(crate) struct Template {
    options: Options,
}

// === impl Template ===

impl Template {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
        }
    }

    /// The expression of the snippet with this path.
    pub(crate) fn at(&self, path: &str) -> String {
        self.render(Snippet::at(path))
    }

    /// The expression of a snippet.
    pub(crate) fn render(&self, snippet: Snippet) -> String {
        self.fill(snippet.text())
    }

    /// Fills in the placeholders of a text. If a placeholder begins a line, further lines of its value get the same indent.
    ///
    /// # Panics
    /// If a placeholder has no end or an unknown word. All texts are constants, and a test renders every snippet.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            filled.push_str(&rest[..start]);
            let (inside, after) = placeholder(&rest[start..]);
            let line = filled.rsplit('\n').next().unwrap_or_default();
            let indent = match line.trim_start() {
                "" => format!("\n{line}"),
                _ => "\n".to_owned(),
            };
            filled.push_str(&self.value(inside).replace('\n', &indent));
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    fn value(&self, inside: &str) -> String {
        let (word, arguments) = inside.split_once(' ').unwrap_or((inside, ""));
        let arguments = self.fill(arguments);
        let arguments: Vec<&str> = arguments.split(" | ").collect();
        let first = arguments[0];
        match word {
            _ if word.contains('/') => self.at(word),
            "say" => {
                let (name, arguments) = arguments.split_first().expect("split gives one item");
                sentence::expression(name, arguments)
            }
            "allowed" => allowed(first, arguments.get(1).copied()),
            "quoted" => quoted(first),
            "value" => format!(
                "({first}.size() > 100 ? strings.quote({first}.substring(0, 100)) + '...' : strings.quote({first}))"
            ),
            "unique" => unique(first),
            "set" => in_chunks(
                first,
                "sorted.transformList(i, x, i == 0 || x != sorted[i - 1], x).transformMapEntry(i, x, {x: true})",
            ),
            "counts" => in_chunks(first, &counts("sorted")),
            "has" => format!(
                "[{}].exists(key, {first}.exists(chunk, key in chunk))",
                arguments[1]
            ),
            "count" => format!(
                "[{}].map(key, {first}.map(chunk, chunk[?key].orValue(0)).sum())[0]",
                arguments[1]
            ),
            "smallSet" => format!("{}.transformMapEntry(i, x, {{x: true}})", unique(first)),
            "smallCounts" => counts(&format!("{first}.sort()")),
            "chunks" => in_chunks_of(first, arguments[1], arguments[2]),
            "listed" => listed(
                first,
                &format!("'... and ' + string(all.size() - {MOST_FAULTS}) + ' more'"),
            ),
            "listedInPart" => listed(first, "'... and more'"),
            "first" => format!(
                "[{first}].map(all, all.size() <= {MOST_FAULTS} ? all : all.slice(0, {MOST_FAULTS} + 1))[0]"
            ),
            "text" => text_of(first),
            "taintId" => taint_id(first),
            "timed" => timed(first),
            "givenTime" => given_time(first),
            "readable" => format!(
                "{first}.matches('^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]+)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})$') && \
                 !format.datetime().validate({first}).hasValue()"
            ),
            "instant" => format!(
                "string(int(timestamp({first}))) + '.' + string(timestamp({first}).getMilliseconds())"
            ),
            constant => self.constant(constant),
        }
    }

    fn constant(&self, name: &str) -> String {
        let settings = &self.options.settings;
        match name {
            "DENY_NOW" => labels::DENY_NOW.to_owned(),
            "CLUSTER_SET" => labels::CLUSTER_SET.to_owned(),
            "RETIRED_SET" => labels::RETIRED_CLUSTER_SET.to_owned(),
            "ADDON_NAME" => labels::ADDON_NAME.to_owned(),
            "CLUSTER_NAME" => labels::CLUSTER_NAME.to_owned(),
            "DEFAULT_SET" => labels::DEFAULT_SET.to_owned(),
            "GLOBAL_SET" => labels::GLOBAL_SET.to_owned(),
            "ALL_AGENTS" => agents::ALL.to_owned(),
            "AGENT_PREFIX" => agents::PREFIX.to_owned(),
            "LONGEST_LIST" => LONGEST_LIST.to_string(),
            "MOST_VALUES" => MOST_VALUES.to_string(),
            "MOST_COMPARED" => MOST_COMPARED.to_string(),
            "LARGEST_WAITING" => LARGEST_WAITING.to_string(),
            "LARGEST_ACCEPTED" => LARGEST_ACCEPTED.to_string(),
            "MUCH_TEXT" => MUCH_TEXT.to_string(),
            "LONGEST_LEASE" => LONGEST_LEASE.to_string(),
            "LONGEST_SET_NAME" => faults::LONGEST_SET_NAME.to_string(),
            "LABEL_SELECTOR" => faults::LABEL_SELECTOR.to_owned(),
            "OURS" => format!("{OURS}s"),
            "TAINT_WITHOUT_KEY" => faults::TAINT_WITHOUT_KEY.to_owned(),
            "NO_SELECTOR" => faults::no_selector(),
            "GUARDED_SELECTORS" => settings.gates.guarded_selectors.to_string(),
            "CHANGES_ACCEPTANCE" if settings.gates.unguarded_denial => {
                "variables.isAccepted && !variables.wasAccepted".to_owned()
            }
            "CHANGES_ACCEPTANCE" => "variables.isAccepted != variables.wasAccepted".to_owned(),
            "RESERVED" => self.reserved(),
            "RESERVED_PREFIX" => self.reserved_prefix(),
            "PREFIXES" => list(settings.reserved_prefixes.iter()),
            _ => panic!("no value for placeholder {name}"),
        }
    }

    /// Why the name is reserved exactly, or the empty string.
    fn reserved(&self) -> String {
        let namespaces = reserved::NAMESPACES
            .into_iter()
            .chain([&*self.options.settings.hub_namespace])
            .filter(|name| !name.is_empty());
        format!(
            "variables.name == {} ? {}\n\
             : variables.name in {} ? {}\n\
             : variables.name in {} || variables.name.startsWith({}) ? {} : ''",
            literal(reserved::ALL_AGENTS),
            literal(&Reservation::AllAgents.to_string()),
            list(reserved::SHARED_ROLES),
            literal(&Reservation::SharedRole.to_string()),
            list(namespaces),
            literal(reserved::AGENT_NAMESPACES),
            literal(&Reservation::Namespace.to_string()),
        )
    }

    /// Why the name is reserved by its prefix, or the empty string. With a webhook, the webhook decides this.
    fn reserved_prefix(&self) -> String {
        let mut expression = String::from("variables.reserved != '' ? ''\n");
        if self.options.mode == Mode::Policies {
            for prefix in self.options.settings.reserved_prefixes.iter() {
                let why = Reservation::Prefix(prefix).to_string();
                let (prefix, why) = (literal(prefix), literal(&why));
                expression.push_str(&format!(": variables.name.startsWith({prefix}) ? {why}\n"));
            }
        }
        expression.push_str(": ''");
        expression
    }
}

/// Splits a text that begins with a placeholder: what is in it, and what follows.
fn placeholder(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut at = 0;
    while at + 1 < text.len() {
        match &text.as_bytes()[at..at + 2] {
            b"{{" => {
                depth += 1;
                at += 2;
            }
            b"}}" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return (&text[2..at - 2], &text[at..]);
                }
            }
            _ => at += 1,
        }
    }
    panic!("a placeholder without end: {text}")
}

/// A list of texts.
fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let literals: Vec<_> = texts.into_iter().map(literal).collect();
    format!("[{}]", literals.join(", "))
}

/// Whether the requester has a permission.
fn allowed(permission: &str, name: Option<&str>) -> String {
    let permission = match permission {
        "accept" => Permission::accept(""),
        "join" => Permission::join(""),
        "joinAll" => Permission::join_all(),
        "bind" => Permission::bind(""),
        _ => panic!("no permission {permission}"),
    };
    let named = match name {
        Some(name) => format!(".name({name})"),
        None => String::new(),
    };
    let checks: Vec<_> = permission
        .verbs
        .iter()
        .map(|verb| {
            format!(
                "authorizer.group('{}').resource('{}').subresource('{}'){named}.check('{verb}').allowed()",
                permission.group, permission.resource, permission.subresource
            )
        })
        .collect();
    checks.join(" ||\n")
}

/// The first faults of a list, sorted and without repetitions, in one line. `more` says that there are others.
fn listed(faults: &str, more: &str) -> String {
    format!(
        "[{faults}].map(all, all.size() <= {MOST_FAULTS} ? all.distinct().sort()\n\
         \x20 : all.slice(0, {MOST_FAULTS}).distinct().sort() + [{more}]\n\
         ).map(few, few.join('; ')).map(text, text.size() > {LONGEST_MESSAGE} ? text.substring(0, {LONGEST_MESSAGE}) + '...' : text)[0]"
    )
}

/// The sorted list without repetitions. The API server charges the square of the length for `sort()` and `distinct()`.
fn unique(list: &str) -> String {
    format!(
        "[{list}.sort()].map(sorted, sorted.transformList(i, x, i == 0 || x != sorted[i - 1], x))[0]"
    )
}

/// How often each item of a sorted list occurs, as a map.
fn counts(sorted: &str) -> String {
    format!(
        "[{sorted}].map(sorted, [sorted.transformList(i, x, i == 0 || x != sorted[i - 1], i)].map(starts,\n\
         \x20 starts.transformMapEntry(n, i, {{sorted[i]: (n + 1 < starts.size() ? starts[n + 1] : sorted.size()) - i}}))[0])[0]"
    )
}

/// A long list of texts as a list of maps, one for each chunk. `map` makes one of a chunk, which is in `sorted`.
fn in_chunks(list: &str, map: &str) -> String {
    in_chunks_of(list, "sort()", map)
}

/// `sort` is the call that sorts a chunk.
fn in_chunks_of(list: &str, sort: &str, map: &str) -> String {
    format!(
        "[{list}].map(all, lists.range((all.size() + {last}) / {CHUNK}).map(c,\n\
         \x20 [all.slice(c * {CHUNK}, (c + 1) * {CHUNK} < all.size() ? (c + 1) * {CHUNK} : all.size()).{sort}].map(sorted,\n\
         \x20 {map})[0]))[0]",
        last = CHUNK - 1
    )
}

/// The number of characters of all text of a ManagedCluster, without what the hub itself adds. Kubernetes 1.28 has no optional fields.
fn text_of(object: &str) -> String {
    let of_hub = |names: [&str; 2]| list(names);
    let set = literal(labels::CLUSTER_SET);
    let finalizers = of_hub([labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP]);
    let taints = of_hub([labels::TAINT_UNAVAILABLE, labels::TAINT_UNREACHABLE]);
    let text = |item: &str, field: &str| format!("(has({item}.{field}) ? {item}.{field} : '')");
    let (url, bundle) = (text("it", "url"), text("it", "caBundle"));
    let (key, value) = (text("it", "key"), text("it", "value"));
    format!(
        "(size(has({object}.metadata.labels) ? {object}.metadata.labels.map(key,\n\
         \x20 key == {set} ? '' : key + {object}.metadata.labels[key]).join('') : '') +\n\
         size(has({object}.metadata.annotations) ? {object}.metadata.annotations.map(key,\n\
         \x20 key + {object}.metadata.annotations[key]).join('') : '') +\n\
         size(has({object}.metadata.finalizers) ? {object}.metadata.finalizers.filter(it, !(it in {finalizers})).join('') : '') +\n\
         size(has({object}.metadata.ownerReferences) ? {object}.metadata.ownerReferences.map(it,\n\
         \x20 it.apiVersion + it.kind + it.name + it.uid).join('') : '') +\n\
         size(has({object}.spec) && has({object}.spec.managedClusterClientConfigs) ? {object}.spec.managedClusterClientConfigs.map(it,\n\
         \x20 {url} + {bundle}).join('') : '') +\n\
         size(has({object}.spec) && has({object}.spec.taints) ? {object}.spec.taints.map(it,\n\
         \x20 {key} in {taints} && {value} == '' ? '' : {key} + {value}).join('') : ''))"
    )
}

/// The identity of a taint: key, effect and value.
fn taint_id(taint: &str) -> String {
    format!(
        "string({taint}.?key.orValue('')) + '\\n' + string({taint}.?effect.orValue('')) + '\\n' + string({taint}.?value.orValue(''))"
    )
}

/// The taint has a time other than Go's zero time.
fn timed(taint: &str) -> String {
    format!(
        "has({taint}.timeAdded) && {taint}.timeAdded != null && {taint}.timeAdded != '0001-01-01T00:00:00Z'"
    )
}

fn given_time(taint: &str) -> String {
    format!("({} ? string({taint}.timeAdded) : '')", timed(taint))
}
