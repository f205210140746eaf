fn main() {
    let docs = berth_policies::policies(&berth_policies::Options::default());
    println!(
        "{}",
        serde_json::json!({"apiVersion":"v1","kind":"List","items":docs})
    );
}
