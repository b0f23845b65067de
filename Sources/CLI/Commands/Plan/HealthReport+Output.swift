import LarderCore
import LarderPrefetch

extension HealthReport {
    package func forEach(_ body: (HealthFinding) throws -> Void) throws {
        for kind in HealthFinding.Kind.allCases { try forEach(kind, body) }
    }

    var hostLines: [String] {
        otherHosts.map { "third-party  \($0.host)  \($0.icons.of("icon")), not \(ownHost ?? "")" }
    }

    var text: String {
        let kinds = HealthFinding.Kind.allCases.compactMap { kind in
            counts[kind].map { "\(kind.rawValue) \($0)" }
        }
        return entries.of("entry", "entries") + ", \(icons.of("icon")): "
            + (kinds.isEmpty ? "no findings" : kinds.joined(separator: ", "))
    }

    var json: String {
        var kinds = JSONObject()
        for kind in HealthFinding.Kind.allCases { kinds.set(kind.rawValue, counts[kind] ?? 0) }
        let hosts = Dictionary(otherHosts.map { ($0.host, $0.icons) }) { $1 }
        let object: JSONObject = [
            "entries": entries, "icons": icons, "findings": kinds, "own_host": ownHost,
            "third_party": hosts, "unfetched": unfetched,
        ]
        return object.text
    }

    /// Writes a JUnit XML report with a suite for each kind. A suite has a test for each finding,
    /// or one passed test. Findings whose kind is not in `failing`, and icons that are never
    /// fetched, are skipped tests.
    func writeJUnit(failing: Set<HealthFinding.Kind>, _ write: (String) -> Void) throws {
        typealias Suite = HealthFinding.Kind?
        let suites: [Suite] = HealthFinding.Kind.allCases + [nil]
        func count(_ kind: Suite) -> Int { kind.map { counts[$0, default: 0] } ?? unfetched.count }
        func failed(_ kind: Suite) -> Int { kind.map(failing.contains) == true ? count(kind) : 0 }
        func totals(_ suites: [Suite]) -> String {
            let tests = suites.reduce(0) { $0 + max(count($1), 1) }
            let failures = suites.reduce(0) { $0 + failed($1) }
            return #"tests="\#(tests)" failures="\#(failures)" errors="0" time="0""#
        }
        write(#"<?xml version="1.0" encoding="UTF-8"?>"#)
        write(#"<testsuites name="larder" \#(totals(suites))>"#)
        for kind in suites {
            let name = kind?.rawValue ?? "unfetched"
            let element = failed(kind) > 0 ? #"failure type="\#(name)""# : "skipped"
            func writeTest(_ place: String, _ title: String, _ message: String) {
                let (place, title) = (place.escapedForXML, title.escapedForXML)
                write(
                    #"<testcase classname="\#(place)" name="\#(title)" time="0">"#
                        + #"<\#(element) message="\#(message.escapedForXML)"/></testcase>"#)
            }
            let skipped = count(kind) - failed(kind)
            write(#"<testsuite name="\#(name)" \#(totals([kind])) skipped="\#(skipped)">"#)
            if count(kind) == 0 {
                write(#"<testcase classname="larder" name="\#(name)" time="0"/>"#)
            }
            if let kind {
                try forEach(kind) { finding in
                    let entry = finding.entry
                    let label = entry.name.isEmpty ? "" : ": \(entry.name)"
                    let url = entry.url.map { "\($0.shownAsURL): " } ?? ""
                    writeTest(
                        entry.manifest, "entry \(entry.position), icon \(entry.icon)\(label)",
                        url + finding.message)
                }
            } else {
                for (kind, note) in unfetched.notes {
                    writeTest("icons", kind, "not fetched: \(note)")
                }
            }
            for other in kind == .thirdParty ? otherHosts : [] {
                writeTest("hosts", other.host, "\(other.icons.of("icon")), not \(ownHost ?? "")")
            }
            write("</testsuite>")
        }
        write("</testsuites>")
    }
}

extension HealthFinding {
    func text(_ paint: Paint) -> String {
        entry.text(kind == .failed ? paint.failed(kind.rawValue) : kind.rawValue, message)
    }

    var json: String {
        let object: JSONObject = [
            "kind": kind.rawValue, "manifest": entry.manifest.sanitizedForTerminal,
            "position": entry.position, "icon_number": entry.icon,
            "name": entry.name.sanitizedForTerminal, "url": entry.url?.shownAsURL,
            "message": message.sanitizedForTerminal,
        ]
        return object.text
    }
}

extension String {
    /// The text as an attribute value. XML 1.0 does not allow control characters, even as
    /// references.
    fileprivate var escapedForXML: String {
        sanitizedForTerminal.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case "\"": text += "&quot;"
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
