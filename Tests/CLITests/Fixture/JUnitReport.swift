import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A report in JUnit's XML format, compared with the elements and attributes that the schema of
/// Jenkins (junit-10.xsd) allows.
final class JUnitReport: NSObject, XMLParserDelegate {
    struct Suite: Equatable {
        var tests = 0
        var failures = 0
        var skipped = 0
        var errors = 0
    }

    private struct Element {
        let parent: String?
        let required: Set<String>
        var optional: Set<String> = []
    }

    private static let elements = [
        // The schema does not require totals, times and class names, but readers show them. It
        // has no "skipped" here.
        "testsuites": Element(
            parent: nil, required: ["tests", "failures", "errors", "time"], optional: ["name"]),
        "testsuite": Element(
            parent: "testsuites", required: ["name", "tests", "failures", "errors", "time"],
            optional: ["skipped", "timestamp", "hostname", "id", "package"]),
        "testcase": Element(parent: "testsuite", required: ["name", "classname", "time"]),
        "failure": Element(parent: "testcase", required: [], optional: ["type", "message"]),
        "skipped": Element(parent: "testcase", required: [], optional: ["type", "message"]),
        "error": Element(parent: "testcase", required: [], optional: ["type", "message"]),
    ]

    private(set) var problems: [String] = []
    /// The counted elements of each suite, by its name.
    private(set) var suites: [String: Suite] = [:]
    private var open: [String] = []
    private var stated: [String: Suite] = [:]
    private var statedTotal = Suite()
    private var suite = ""
    private var results = 0

    init(_ text: Data) throws {
        super.init()
        let parser = XMLParser(data: text)
        parser.delegate = self
        if !parser.parse() { problems.append("line \(parser.lineNumber): not well-formed") }
        if stated != suites { problems.append("counts: \(stated), counted: \(suites)") }
        let total = suites.values.reduce(into: Suite()) {
            $0.tests += $1.tests
            $0.failures += $1.failures
            $0.errors += $1.errors
        }
        if statedTotal != total { problems.append("totals: \(statedTotal), counted: \(total)") }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
        qualifiedName: String?, attributes: [String: String] = [:]
    ) {
        defer { open.append(name) }
        guard let element = Self.elements[name] else { return problems.append("<\(name)>") }
        let names = Set(attributes.keys)
        if open.last != element.parent { problems.append("<\(name)> in \(open)") }
        if !element.required.isSubset(of: names)
            || !names.isSubset(of: element.required.union(element.optional))
        {
            problems.append("<\(name)> with \(names)")
        }
        func count(_ name: String) -> Int {
            guard let text = attributes[name] else { return 0 }
            if Int(text) == nil { problems.append("\(name)=\(text)") }
            return Int(text) ?? 0
        }
        switch name {
        case "testsuites":
            statedTotal = Suite(
                tests: count("tests"), failures: count("failures"), errors: count("errors"))
        case "testsuite":
            suite = attributes["name"] ?? ""
            if suites[suite] != nil { problems.append("a second suite \(suite)") }
            suites[suite] = Suite()
            stated[suite] = Suite(
                tests: count("tests"), failures: count("failures"), skipped: count("skipped"),
                errors: count("errors"))
        case "testcase":
            suites[suite]?.tests += 1
            results = 0
        case "failure": suites[suite]?.failures += 1
        case "skipped": suites[suite]?.skipped += 1
        case "error": suites[suite]?.errors += 1
        default: break
        }
        if element.parent == "testcase" { results += 1 }
        if results > 1 { problems.append("a test with \(results) results") }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
        qualifiedName: String?
    ) {
        open.removeLast()
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if !text.allSatisfy(\.isWhitespace) { problems.append("text \(text)") }
    }
}
