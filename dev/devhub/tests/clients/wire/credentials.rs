//! Who is let in, and who may speak for others.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::{Credentials, Person, fresh, rule};
use crate::desk::Desk;
use crate::wire::exchange::said;

const UNAUTHORIZED: &str = "401 Unauthorized: Unauthorized";

async fn stranger(desk: &Desk, credentials: Credentials) -> String {
    let stranger = desk.cluster.person("stranger", &credentials).await;
    // A TLS stack may also refuse to speak; the hub's does not.
    said(&stranger.get("/api/v1/namespaces").await.unwrap())
}

#[tokio::test]
async fn who_proves_nothing_is_not_let_in() {
    let desk = Desk::new().await;
    assert_eq!(stranger(&desk, Credentials::None).await, UNAUTHORIZED);
    for token in ["garbage", "a.b.c", "Bearer", &"x".repeat(10_000)] {
        let token = Credentials::Token(token.to_owned());
        assert_eq!(stranger(&desk, token).await, UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_certificate_of_another_ca_or_another_time_is_not_let_in() {
    let desk = Desk::new().await;
    let day = Duration::from_secs(24 * 3600);
    let foreign = Authority::new("users", day, Timestamp::now()).unwrap();
    let admin = foreign.client("admin", &["system:masters"], &[], day, Timestamp::now());
    let credentials = Credentials::Certificate(admin.unwrap());
    assert_eq!(stranger(&desk, credentials).await, UNAUTHORIZED);
}

/// The three parts of a token, of which the first two are JSON.
fn parts(token: &str) -> [Vec<u8>; 3] {
    let parts: Vec<_> = token
        .split('.')
        .map(|part| URL_SAFE_NO_PAD.decode(part).unwrap())
        .collect();
    parts.try_into().unwrap()
}

fn token(parts: &[Vec<u8>; 3]) -> Credentials {
    let [head, claims, signature] = parts;
    let parts = [head, claims, signature].map(|part| URL_SAFE_NO_PAD.encode(part));
    Credentials::Token(parts.join("."))
}

#[tokio::test]
async fn a_forged_token_is_not_let_in() {
    let desk = Desk::new().await;
    let accounts = desk.core("serviceaccounts");
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "robot" } });
    desk.admin.post(&accounts, &account).await.unwrap().ok();
    let request =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let answer = desk
        .admin
        .post(&format!("{accounts}/robot/token"), &request)
        .await
        .unwrap();
    let real = parts(answer.ok()["status"]["token"].as_str().unwrap());
    let forbidden = "403 Forbidden: namespaces is forbidden: User \"system:serviceaccount:{ns}:robot\" cannot list resource \
        \"namespaces\" in API group \"\" at the cluster scope\n  kind=namespaces".replace("{ns}", &desk.namespace);
    assert_eq!(stranger(&desk, token(&real)).await, forbidden);

    let with = |part: usize, change: &dyn Fn(&mut Value)| {
        let mut forged = real.clone();
        let mut value: Value = serde_json::from_slice(&forged[part]).unwrap();
        change(&mut value);
        forged[part] = value.to_string().into_bytes();
        forged
    };
    let mut unsigned = with(0, &|head| head["alg"] = "none".into());
    unsigned[2].clear();
    let mut broken = real.clone();
    broken[2][7] ^= 1;
    for forged in [
        with(1, &|claims| {
            claims["sub"] = "system:serviceaccount:kube-system:admin".into()
        }),
        with(1, &|claims| claims["exp"] = 4_000_000_000_u64.into()),
        with(0, &|head| head["alg"] = "HS256".into()),
        unsigned,
        broken,
    ] {
        assert_eq!(stranger(&desk, token(&forged)).await, UNAUTHORIZED);
    }
    let Credentials::Token(whole) = token(&real) else {
        panic!("a token")
    };
    let (unsigned, signature) = whole.rsplit_once('.').unwrap();
    for forged in [
        unsigned,
        &format!("{whole}.{signature}"),
        &format!("{unsigned}."),
        "..",
        "x.y",
    ] {
        let forged = Credentials::Token(forged.to_owned());
        assert_eq!(stranger(&desk, forged).await, UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_token_is_for_its_audience_only() {
    let desk = Desk::new().await;
    let accounts = desk.core("serviceaccounts");
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "robot" } });
    desk.admin.post(&accounts, &account).await.unwrap().ok();
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "audiences": ["elsewhere"] },
    });
    let answer = desk
        .admin
        .post(&format!("{accounts}/robot/token"), &request)
        .await
        .unwrap();
    let Value::String(token) = &answer.ok()["status"]["token"] else {
        panic!("{answer:?}")
    };
    assert_eq!(
        stranger(&desk, Credentials::Token(token.clone())).await,
        UNAUTHORIZED
    );

    let review = |audiences: Value| json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token, "audiences": audiences } });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answer = desk
        .admin
        .post(path, &review(json!(["elsewhere"])))
        .await
        .unwrap();
    assert_eq!(answer.ok()["status"]["authenticated"], true, "{answer:?}");
    assert_eq!(
        answer.ok()["status"]["user"]["username"],
        format!("system:serviceaccount:{}:robot", desk.namespace)
    );
    assert_eq!(answer.ok()["status"]["audiences"], json!(["elsewhere"]));
    let answer = desk
        .admin
        .post(path, &review(json!(["nowhere"])))
        .await
        .unwrap();
    assert_eq!(
        answer.ok()["status"]["authenticated"],
        json!(null),
        "{answer:?}"
    );
}

#[tokio::test]
async fn to_speak_for_others_takes_the_right_to() {
    let desk = Desk::new().await;
    let user = fresh("speaker");
    let speaker = desk.cluster.user(&user, &[]).await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let whoami = async |person: &Person, headers: &[(&str, &str)]| {
        let mut request = http::Request::post(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        person
            .request(request.body(body.as_bytes().to_vec().into()).unwrap())
            .await
            .unwrap()
    };
    let answer = whoami(&speaker, &[("Impersonate-User", "other")]).await;
    assert_eq!(answer.code, 403, "{answer:?}");
    assert_eq!(answer.body["reason"], "Forbidden");

    let rules = [
        rule(&["impersonate"], "", &["users"], &["other"]),
        rule(&["impersonate"], "", &["groups"], &["team"]),
    ];
    desk.cluster.grant(&speaker, &rules).await;
    let answer = whoami(
        &speaker,
        &[("Impersonate-User", "other"), ("Impersonate-Group", "team")],
    )
    .await;
    let info = &answer.ok()["status"]["userInfo"];
    assert_eq!(info["username"], "other");
    assert_eq!(info["groups"], json!(["team", "system:authenticated"]));
    for headers in [
        &[("Impersonate-User", "somebody")][..],
        &[
            ("Impersonate-User", "other"),
            ("Impersonate-Group", "system:masters"),
        ],
        &[("Impersonate-User", "other"), ("Impersonate-Uid", "1")],
        &[
            ("Impersonate-User", "other"),
            ("Impersonate-Extra-Scopes", "all"),
        ],
    ] {
        let answer = whoami(&speaker, headers).await;
        assert_eq!(answer.code, 403, "{headers:?}: {answer:?}");
    }
    let everything = &[
        ("Impersonate-User", "system:serviceaccount:a:b"),
        ("Impersonate-Group", "x"),
        ("Impersonate-Group", "y"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Extra-Example.com%2fscopes", "one"),
        ("Impersonate-Extra-Example.com%2fscopes", "two"),
    ];
    let answer = whoami(&desk.admin, everything).await;
    assert_eq!(
        answer.ok()["status"]["userInfo"],
        json!({
            "username": "system:serviceaccount:a:b", "groups": ["x", "y", "system:authenticated"], "uid": "7",
            "extra": { "example.com/scopes": ["one", "two"] },
        })
    );
    // Without groups of its own, a user has those that follow from the name.
    let robot = whoami(&desk.admin, &[everything[0]]).await;
    let groups = ["serviceaccounts", "serviceaccounts:a", "authenticated"];
    let groups = groups.map(|group| format!("system:{group}"));
    assert_eq!(robot.ok()["status"]["userInfo"]["groups"], json!(groups));
    let dev = ("Impersonate-User", "dev");
    let unauthenticated = ("Impersonate-Group", "system:unauthenticated");
    assert_eq!(whoami(&desk.admin, &[dev]).await.code, 201);
    for headers in [
        &[("Impersonate-User", "system:anonymous")][..],
        &[dev, unauthenticated],
    ] {
        let answer = whoami(&desk.admin, headers).await;
        answer.refused(403, "Forbidden");
    }
    for headers in [
        [("Impersonate-Group", "x")],
        [("Impersonate-Uid", "x")],
        [("Impersonate-Extra-A", "x")],
    ] {
        let answer = whoami(&desk.admin, &headers).await;
        answer.refused(400, "BadRequest");
    }
}
