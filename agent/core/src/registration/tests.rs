//! Each state of a registration, and a hub that does anything, under an agent that is killed anywhere.

use proptest::prelude::*;

use super::*;
use crate::identity::Identity;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// The moment of the tables.
const NOW: i64 = 1_000_000;

const KEY: [u8; 32] = [0xab; 32];

const CSR: &str = "c1-abababababababab";

fn wanted() -> Asked {
    Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), None)
}

/// What an add-on of the same cluster asks for.
fn wanted_by_addon() -> Asked {
    Asked {
        addon: Some("x".to_owned()),
        ..wanted()
    }
}

/// Nothing is there yet.
fn nothing(asked: &Asked) -> Facts<'_> {
    Facts {
        asked,
        held: Held::Unusable(Fault::Missing),
        held_key: None,
        is_current: true,
        refusal: None,
        attempt: None,
        request: Request::Unknown,
        others_pending: 0,
        cluster: ClusterOnHub::Present,
    }
}

fn refusal(since: i64) -> Refusal {
    Refusal {
        since: at(since),
        is_at_new_url: false,
    }
}

fn attempt(number: u32) -> Option<Attempt> {
    Some(Attempt { key: KEY, number })
}

fn ask(with: Credentials) -> Vec<Step> {
    vec![Step::Ask {
        name: CSR.to_owned(),
        with,
    }]
}

fn keep(number: u32, with_new_key: bool) -> Vec<Step> {
    vec![Step::Keep {
        number,
        with_new_key,
    }]
}

#[test]
fn a_certificate_is_needed_without_one_that_the_hub_takes() {
    let fresh = Standing::Fresh {
        renew_at: at(NOW + 100),
    };
    let good = Need::Nothing {
        renew_at: Some(at(NOW + 100)),
    };
    let refused = Need::Bootstrap(Fault::Refused);
    for (held, refused_since, need) in [
        (
            Held::Unusable(Fault::Missing),
            None,
            Need::Bootstrap(Fault::Missing),
        ),
        (
            Held::Unusable(Fault::OtherKey),
            Some(0),
            Need::Bootstrap(Fault::OtherKey),
        ),
        (Held::Certificate(fresh), None, good),
        (Held::Certificate(fresh), Some(NOW), good),
        (Held::Certificate(fresh), Some(NOW - 59), good),
        (Held::Certificate(fresh), Some(NOW - 60), refused),
        (Held::Certificate(Standing::Due), None, Need::Renewal),
        (Held::Certificate(Standing::Due), Some(NOW - 60), refused),
        (
            Held::Certificate(Standing::Expired),
            None,
            Need::Bootstrap(Fault::Expired),
        ),
        (
            Held::Certificate(Standing::NotYetValid),
            None,
            Need::Nothing { renew_at: None },
        ),
    ] {
        let wanted = wanted();
        let facts = Facts {
            held,
            refusal: refused_since.map(refusal),
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(decision.need, need, "{held:?} {refused_since:?}");
        let is_good = matches!(need, Need::Nothing { .. });
        assert_eq!(decision.steps.is_empty(), is_good, "{held:?}");
    }
}

/// A hub that was there before may only restart. The one at a new URL is another hub.
#[test]
fn a_hub_at_a_new_url_that_refuses_the_certificate_is_asked_at_once() {
    let fresh = Standing::Fresh {
        renew_at: at(NOW + 100),
    };
    for (is_at_new_url, since, is_asked) in [
        (true, NOW, true),
        (false, NOW, false),
        (false, NOW - 59, false),
        (false, NOW - 60, true),
        // The clock went back.
        (true, NOW + 5, false),
    ] {
        let wanted = wanted();
        let facts = Facts {
            held: Held::Certificate(fresh),
            refusal: Some(Refusal {
                since: at(since),
                is_at_new_url,
            }),
            ..nothing(&wanted)
        };
        let need = decide(&facts, at(NOW)).need;
        let is_refused = need == Need::Bootstrap(Fault::Refused);
        assert_eq!(is_refused, is_asked, "{is_at_new_url} {since}");
    }
}

#[test]
fn the_next_look_at_a_good_certificate_is_at_its_renewal_or_at_the_end_of_patience() {
    let fresh = |seconds| {
        Held::Certificate(Standing::Fresh {
            renew_at: at(NOW + seconds),
        })
    };
    for (held, refused_since, again) in [
        (fresh(100), None, Some(NOW + 100)),
        (fresh(100), Some(NOW - 20), Some(NOW + 40)),
        (fresh(30), Some(NOW - 20), Some(NOW + 30)),
        (Held::Certificate(Standing::NotYetValid), None, None),
        (
            Held::Certificate(Standing::NotYetValid),
            Some(NOW),
            Some(NOW + 60),
        ),
    ] {
        let wanted = wanted();
        let facts = Facts {
            held,
            refusal: refused_since.map(refusal),
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(decision.again, again.map(at), "{held:?} {refused_since:?}");
    }
}

#[test]
fn each_answer_of_the_hub_has_a_next_step() {
    let denied = |at_: i64| Request::Denied {
        message: "no".to_owned(),
        at: at(at_),
    };
    for (sentence, attempt_, request, steps, reason, again) in [
        ("no key", None, Request::Unknown, keep(0, true), None, None),
        (
            "not asked",
            attempt(0),
            Request::Unknown,
            vec![],
            None,
            None,
        ),
        (
            "no request",
            attempt(0),
            Request::Absent,
            ask(Credentials::Bootstrap),
            None,
            None,
        ),
        (
            "nobody has looked at it",
            attempt(0),
            Request::Pending,
            vec![],
            Some("CSRPending"),
            None,
        ),
        (
            "the signer is away",
            attempt(0),
            Request::Unsigned,
            vec![],
            Some("CSRUnsigned"),
            None,
        ),
        (
            "signed",
            attempt(0),
            Request::Issued,
            vec![Step::Save],
            None,
            None,
        ),
        (
            "denied now",
            attempt(0),
            denied(NOW),
            vec![],
            Some("CSRDenied"),
            Some(NOW + 600),
        ),
        (
            "denied by a hub whose clock is ahead",
            attempt(0),
            denied(NOW + 9_999),
            vec![],
            Some("CSRDenied"),
            Some(NOW + 600),
        ),
        (
            "denied for the third time",
            attempt(2),
            denied(NOW - 600),
            vec![],
            Some("CSRDenied"),
            Some(NOW + 1_800),
        ),
        (
            "denied for the hundredth time",
            attempt(99),
            denied(NOW),
            vec![],
            Some("CSRDenied"),
            Some(NOW + 3_600),
        ),
        (
            "denied some time ago",
            attempt(0),
            denied(NOW - 600),
            keep(1, false),
            None,
            None,
        ),
        (
            "the signer refused it some time ago",
            attempt(1),
            Request::Failed {
                message: String::new(),
                at: at(NOW - 1_200),
            },
            keep(2, false),
            None,
            None,
        ),
        (
            "a certificate for someone else",
            attempt(0),
            Request::IssuedWrongly {
                why: Fault::OtherSubject,
                at: at(NOW),
            },
            vec![],
            Some("CSRWrongCertificate"),
            Some(NOW + 600),
        ),
    ] {
        let wanted = wanted();
        let facts = Facts {
            attempt: attempt_,
            request,
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(decision.steps, steps, "{sentence}");
        let waiting = decision.waiting.as_ref().map(Waiting::reason);
        assert_eq!(waiting, reason, "{sentence}");
        assert_eq!(decision.again, again.map(at), "{sentence}");
    }
}

#[test]
fn a_renewal_asks_with_the_certificate_and_leaves_the_cluster_alone() {
    let wanted = wanted();
    let facts = Facts {
        held: Held::Certificate(Standing::Due),
        held_key: Some([1; 32]),
        attempt: attempt(0),
        request: Request::Absent,
        cluster: ClusterOnHub::Absent,
        ..nothing(&wanted)
    };
    assert_eq!(decide(&facts, at(NOW)).steps, ask(Credentials::Hub));
}

#[test]
fn another_url_is_written_beside_a_good_certificate() {
    let fresh = Standing::Fresh {
        renew_at: at(NOW + 1),
    };
    for (held, steps) in [
        (Held::Certificate(fresh), vec![Step::Rewrite]),
        (
            Held::Certificate(Standing::NotYetValid),
            vec![Step::Rewrite],
        ),
        (
            Held::Certificate(Standing::Due),
            [vec![Step::Rewrite], keep(0, true)].concat(),
        ),
        // It is written with the new certificate.
        (Held::Certificate(Standing::Expired), keep(0, true)),
        (Held::Unusable(Fault::OtherSubject), keep(0, true)),
    ] {
        let wanted = wanted();
        let facts = Facts {
            held,
            is_current: false,
            ..nothing(&wanted)
        };
        assert_eq!(decide(&facts, at(NOW)).steps, steps, "{held:?}");
    }
}

#[test]
fn an_attempt_is_forgotten_once_its_certificate_is_saved() {
    let wanted = wanted();
    let fresh = Standing::Fresh {
        renew_at: at(NOW + 1),
    };
    for (held, held_key) in [
        (Held::Certificate(fresh), KEY),
        (Held::Certificate(fresh), [1; 32]),
        // It was saved, and became old since.
        (Held::Certificate(Standing::Due), KEY),
        (Held::Certificate(Standing::Expired), KEY),
    ] {
        let facts = Facts {
            held,
            held_key: Some(held_key),
            attempt: attempt(3),
            request: Request::Issued,
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(decision.steps, [Step::Forget], "{held:?}");
    }
}

#[test]
fn the_cluster_is_asked_for_until_the_hub_has_it() {
    let refused = |ago: i64, times: u32| ClusterOnHub::Refused {
        message: "user \"b\" must create managedclusters".to_owned(),
        at: at(NOW - ago),
        times,
    };
    for (cluster, is_asked_for, again) in [
        (ClusterOnHub::Unknown, false, None),
        (ClusterOnHub::Present, false, None),
        (ClusterOnHub::Absent, true, None),
        (refused(0, 1), false, Some(120)),
        (refused(119, 1), false, Some(1)),
        (refused(120, 1), true, None),
        (refused(0, 9), false, Some(360)),
        (refused(-999, 1), false, Some(120)),
    ] {
        let wanted = wanted();
        let facts = Facts {
            cluster: cluster.clone(),
            attempt: attempt(0),
            request: Request::Pending,
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        let is_step = decision.steps.contains(&Step::CreateCluster);
        assert_eq!(is_step, is_asked_for, "{cluster:?}");
        let again = again.map(|seconds| at(NOW + seconds));
        assert_eq!(decision.again, again, "{cluster:?}");
        let reason = decision.waiting.map(|it| it.reason());
        let expected = match again {
            Some(_) => "ManagedClusterRefused",
            None => "CSRPending",
        };
        assert_eq!(reason, Some(expected), "{cluster:?}");
    }
}

#[test]
fn only_the_agents_own_pending_requests_stop_it() {
    let own = wanted();
    for (others_pending, is_asked) in [(0, true), (9, true), (10, false)] {
        let facts = Facts {
            attempt: attempt(0),
            request: Request::Absent,
            others_pending,
            ..nothing(&own)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(!decision.steps.is_empty(), is_asked, "{others_pending}");
        let reason = decision.waiting.map(|it| it.reason());
        assert_eq!(reason == Some("TooManyCSRs"), !is_asked);
    }
}

#[test]
fn the_name_of_a_request_follows_from_key_and_number_and_is_never_cut() {
    let cluster = "c".repeat(63);
    let wanted = Asked {
        cluster: cluster.clone(),
        ..wanted()
    };
    let name = |number| Attempt { key: KEY, number }.csr_name(&wanted);
    assert_eq!(name(0), format!("{cluster}-abababababababab"));
    assert_eq!(name(7), format!("{cluster}-abababababababab-7"));
    assert!(berth_api::names::is_dns1123_subdomain(&name(u32::MAX)));
}

#[test]
fn the_agent_asks_for_its_add_ons_with_its_own_certificate() {
    let wanted = wanted_by_addon();
    let held = Held::Unusable(Fault::Missing);
    for (request, steps) in [
        (
            Request::Absent,
            vec![Step::Ask {
                name: "addon-c1-x-abababababababab".to_owned(),
                with: Credentials::Hub,
            }],
        ),
        (Request::Pending, vec![]),
        (Request::Issued, vec![Step::Save]),
    ] {
        let facts = Facts {
            held,
            attempt: attempt(0),
            request: request.clone(),
            // Nothing is to be done about the ManagedCluster.
            ..nothing(&wanted)
        };
        let decision = decide(&facts, at(NOW));
        assert_eq!(decision.steps, steps, "{request:?}");
        if let Some(waiting) = decision.waiting {
            let said = waiting.to_string();
            assert!(said.contains("check the manager of add-on x"), "{said}");
        }
    }
    let signer = "example.com/s".to_owned();
    let csr = CSR.to_owned();
    let said = Waiting::Signature { csr, signer }.to_string();
    assert!(said.ends_with("check the signer example.com/s"), "{said}");
}

#[test]
fn what_the_agent_waits_for_is_said_with_the_remedy() {
    for (waiting, words) in [
        (
            Waiting::Approval {
                csr: CSR.to_owned(),
                cluster: "c1".to_owned(),
            },
            "`berth accept c1`",
        ),
        (
            Waiting::Denied {
                csr: CSR.to_owned(),
                message: "not known here".to_owned(),
            },
            "is denied (not known here): ask the hub's admin",
        ),
        (
            Waiting::WrongCertificate {
                csr: CSR.to_owned(),
                why: Fault::OtherSubject,
            },
            "is for another cluster or agent",
        ),
    ] {
        let said = waiting.to_string();
        assert!(said.contains(words), "{said}");
    }
}

/// A hub, a cluster's Secrets and an agent's steps, without I/O.
struct Model {
    wanted: Asked,
    now: i64,
    held: Option<([u8; 32], i64)>,
    /// The hub Secret has the URL of the bootstrap kubeconfig.
    is_current: bool,
    attempt: Option<Attempt>,
    keys: u8,
    cluster: bool,
    /// Name, time of the answer, and state.
    csrs: Vec<(String, i64, Request)>,
    asked: usize,
}

/// The validity of the model's certificates, in seconds.
const VALID: i64 = 10_000;

impl Model {
    fn new() -> Self {
        Self {
            wanted: wanted(),
            now: NOW,
            held: None,
            is_current: true,
            attempt: None,
            keys: 0,
            cluster: false,
            csrs: Vec::new(),
            asked: 0,
        }
    }

    fn standing(&self, issued: i64) -> Standing {
        match self.now - issued {
            age if age >= VALID => Standing::Expired,
            age if age >= VALID * 3 / 4 => Standing::Due,
            _ => Standing::Fresh {
                renew_at: at(issued + VALID * 3 / 4),
            },
        }
    }

    fn decide(&self) -> Decision {
        let name = self.attempt.as_ref().map(|it| it.csr_name(&self.wanted));
        let request = self.csrs.iter().find(|it| Some(&it.0) == name.as_ref());
        let facts = Facts {
            asked: &self.wanted,
            held: match self.held {
                Some((_, issued)) => Held::Certificate(self.standing(issued)),
                None => Held::Unusable(Fault::Missing),
            },
            held_key: self.held.map(|(key, _)| key),
            is_current: self.is_current,
            refusal: None,
            attempt: self.attempt.clone(),
            request: request.map_or(Request::Absent, |it| it.2.clone()),
            others_pending: 0,
            cluster: match self.cluster {
                true => ClusterOnHub::Present,
                false => ClusterOnHub::Absent,
            },
        };
        decide(&facts, at(self.now))
    }

    /// Carries out the first steps; then the agent is killed.
    fn carry_out(&mut self, steps: &[Step], how_many: usize) {
        for step in steps.iter().take(how_many) {
            match step {
                Step::CreateCluster => self.cluster = true,
                Step::Keep {
                    number,
                    with_new_key,
                } => {
                    if *with_new_key {
                        self.keys += 1;
                    }
                    self.attempt = Some(Attempt {
                        key: [self.keys; 32],
                        number: *number,
                    });
                }
                Step::Ask { name, .. } => {
                    assert!(self.attempt.is_some(), "not kept before asking");
                    assert!(self.csrs.iter().all(|it| it.0 != *name), "asked twice");
                    self.csrs.push((name.clone(), 0, Request::Pending));
                    self.asked += 1;
                }
                Step::Save => {
                    let attempt = self.attempt.as_ref().expect("it was issued");
                    let name = attempt.csr_name(&self.wanted);
                    let issued = self.csrs.iter().find(|it| it.0 == name).map(|it| it.1);
                    self.held = issued.map(|issued| (attempt.key, issued));
                    self.is_current = true;
                }
                Step::Rewrite => {
                    assert!(self.held.is_some(), "there is a certificate to keep");
                    self.is_current = true;
                }
                Step::Forget => self.attempt = None,
            }
        }
    }

    /// The hub answers the newest request.
    fn answer(&mut self, answer: Request) {
        if let Some((_, at, request)) = self.csrs.last_mut()
            && matches!(request, Request::Pending | Request::Unsigned)
        {
            (*at, *request) = (self.now, answer);
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// The agent decides, and is killed after this many steps.
    Agent(usize),
    Approve,
    Sign,
    Deny,
    Fail,
    /// The hub deletes all requests, as its garbage collector does.
    Collect,
    /// Someone deletes the hub Secret.
    LoseSecret,
    /// The bootstrap kubeconfig names another URL.
    MoveHub,
    Pass(i64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0_usize..3).prop_map(Event::Agent),
        2 => Just(Event::Approve),
        2 => Just(Event::Sign),
        1 => Just(Event::Deny),
        1 => Just(Event::Fail),
        1 => Just(Event::Collect),
        1 => Just(Event::LoseSecret),
        1 => Just(Event::MoveHub),
        3 => (0_i64..9_000).prop_map(Event::Pass),
    ]
}

proptest! {
    /// Whatever happened, with a hub that approves and signs, the agent has a certificate soon; and it asks no more often than it was
    /// answered, robbed or due.
    #[test]
    fn a_registration_comes_to_its_end(events in prop::collection::vec(event(), 0..60)) {
        let mut model = Model::new();
        let mut reasons_to_ask = 1;
        for event in events {
            match event {
                Event::Agent(steps) => {
                    let decision = model.decide();
                    model.carry_out(&decision.steps, steps);
                }
                Event::Approve => model.answer(Request::Unsigned),
                Event::Sign => model.answer(Request::Issued),
                Event::Deny => {
                    let (message, at) = (String::new(), at(model.now));
                    model.answer(Request::Denied { message, at });
                    reasons_to_ask += 1;
                }
                Event::Fail => {
                    let (message, at) = (String::new(), at(model.now));
                    model.answer(Request::Failed { message, at });
                    reasons_to_ask += 1;
                }
                Event::Collect => {
                    model.csrs.clear();
                    reasons_to_ask += 1;
                }
                Event::LoseSecret => {
                    model.held = None;
                    reasons_to_ask += 1;
                }
                Event::MoveHub => model.is_current = false,
                Event::Pass(seconds) => {
                    model.now += seconds;
                    reasons_to_ask += 1;
                }
            }
            prop_assert!(model.asked <= reasons_to_ask, "{} of {reasons_to_ask}", model.asked);
        }
        let begun = model.asked;
        for _ in 0..12 {
            let decision = model.decide();
            if let Need::Nothing { .. } = decision.need && decision.steps.is_empty() {
                prop_assert!(model.attempt.is_none() && model.is_current);
                prop_assert!(model.asked <= begun + 2);
                return Ok(());
            }
            if decision.steps.is_empty() {
                model.answer(Request::Issued);
                if let Some(again) = decision.again {
                    model.now = model.now.max(again.as_second());
                }
            }
            model.carry_out(&decision.steps, usize::MAX);
        }
        prop_assert!(false, "it is stuck: {:?}", model.decide());
    }
}
