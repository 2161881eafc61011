//! What a check says: to people, as JSON, as JUnit, and of nobody's data unless it is asked for.

use std::fs;

use idem_tests::broken::Defect;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::{BOB, Server, row};

#[actix_web::test]
async fn a_report_is_for_people() {
    let server = Server::with(Defect::GlobalScope);
    let said = server.check(&["--other-header", BOB]).await;
    assert_eq!(said.code, 1, "{}", said.err);
    let report = said
        .out
        .replace(&server.running.address().to_string(), "SHOP");
    let (before, behind) = report.split_once("idem-check-").unwrap();
    let (_, behind) = behind.split_at("0123456789ab".len());
    insta::assert_snapshot!(format!("{before}idem-check-RUN{behind}"));
}

#[actix_web::test]
async fn bodies_are_shown_where_they_are_asked_for() {
    let server = Server::with(Defect::Reserialized);
    let hidden = server.check(&["--json"]).await;
    assert_eq!(row(&hidden, "retry")["outcome"], "violated");
    assert!(!hidden.out.contains("tea"), "{}", hidden.out);
    let shown = server.check(&["--json", "--show-bodies"]).await;
    let detail = row(&shown, "retry")["detail"].to_string();
    assert!(detail.contains("tea"), "{detail}");
}

#[actix_web::test]
async fn keys_of_a_run_can_be_found() {
    let server = Server::with(Defect::None);
    let first = server.check(&["--json"]).await.done().json();
    let second = server.check(&["--json"]).await.done().json();
    let prefix = |document: &serde_json::Value| document["key_prefix"].as_str().unwrap().to_owned();
    let (first, second) = (prefix(&first), prefix(&second));
    assert!(first.starts_with("idem-check-") && first != second);
    let books = server.dir.path().join("shop.db");
    let books = String::from_utf8_lossy(&fs::read(books).unwrap()).into_owned();
    let journal = server.dir.path().join("shop.db-wal");
    let journal = fs::read(journal).unwrap_or_default();
    let all = books + &String::from_utf8_lossy(&journal);
    assert!(all.contains(&first) && all.contains(&second));
}

#[actix_web::test]
async fn junit_is_what_ci_reads() {
    let server = Server::with(Defect::Reserialized);
    let file = server.dir.path().join("junit.xml");
    let said = server.check(&["--junit", file.to_str().unwrap()]).await;
    assert_eq!(said.code, 1, "{}", said.err);
    let text = fs::read_to_string(file).unwrap();
    let mut reader = Reader::from_str(&text);
    let (mut open, mut cases, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = None;
    loop {
        let (element, is_empty) = match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(element) => {
                assert_eq!(open.pop().unwrap(), element.name().as_ref());
                continue;
            }
            _ => continue,
        };
        let attribute = |name: &str| {
            let attribute = element.try_get_attribute(name).unwrap();
            attribute.unwrap().value.into_owned()
        };
        let name = element.name().as_ref().to_owned();
        match name.as_str() {
            "testsuite" => {
                let all = ["tests", "failures", "errors", "skipped"];
                counts = Some(all.map(|count| attribute(count).parse::<usize>().unwrap()));
            }
            "testcase" => {
                assert_eq!(attribute("classname"), "idem.check.strict");
                cases.push(attribute("name"));
            }
            "failure" => results.push((cases.last().unwrap().clone(), attribute("message"))),
            _ => {}
        }
        if !is_empty {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    assert_eq!(counts.unwrap(), [21, 1, 0, 7]);
    assert_eq!(cases.len(), 21);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].0, "retry");
    assert!(
        results[0].1.contains("the body is another one"),
        "{results:?}"
    );
}

/// A report of yesterday stays until there is one of today, which also says that nothing could be checked.
#[actix_web::test]
async fn a_report_takes_its_place_when_it_is_whole() {
    let server = Server::with(Defect::None);
    let url = server.orders();
    let file = server.dir.path().join("junit.xml");
    let options = ["--junit", file.to_str().unwrap()];
    fs::write(&file, "yesterday").unwrap();
    let said = super::run(&url, &options).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "yesterday");
    let said = super::run(&url, &[&options[..], &["--yes"]].concat()).await;
    assert_eq!(said.code, 2, "{}", said.err);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#"name="baseline""#), "{text}");
    assert!(text.contains("<error message="), "{text}");
    assert!(text.contains("answered 401"), "{text}");
    let names = fs::read_dir(server.dir.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| !name.starts_with("shop.db")).collect();
    assert_eq!(names, ["junit.xml"]);
}
