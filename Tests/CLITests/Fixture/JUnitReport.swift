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
    }

    private struct Element {
        let parent: String?
        let required: Set<String>
        var optional: Set<String> = []
    }

    private static let elements = [
        "testsuites": Element(parent: nil, required: [], optional: ["name", "tests", "failures"]),
        "testsuite": Element(
            parent: "testsuites", required: ["name", "tests"],
            optional: ["failures", "errors", "skipped"]),
        "testcase": Element(parent: "testsuite", required: ["name", "classname"]),
        "failure": Element(parent: "testcase", required: [], optional: ["type", "message"]),
        "skipped": Element(parent: "testcase", required: [], optional: ["message"]),
    ]

    private(set) var problems: [String] = []
    /// The counted elements of each suite, by its name.
    private(set) var suites: [String: Suite] = [:]
    private var open: [String] = []
    private var stated: [String: Suite] = [:]
    private var suite = ""

    init(_ text: Data) throws {
        super.init()
        let parser = XMLParser(data: text)
        parser.delegate = self
        if !parser.parse() { problems.append("line \(parser.lineNumber): not well-formed") }
        if stated != suites { problems.append("counts: \(stated), counted: \(suites)") }
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
        func count(_ name: String) -> Int { attributes[name].flatMap { Int($0) } ?? 0 }
        switch name {
        case "testsuite":
            suite = attributes["name"] ?? ""
            if suites[suite] != nil { problems.append("a second suite \(suite)") }
            suites[suite] = Suite()
            stated[suite] = Suite(
                tests: count("tests"), failures: count("failures"), skipped: count("skipped"))
        case "testcase": suites[suite]?.tests += 1
        case "failure": suites[suite]?.failures += 1
        case "skipped": suites[suite]?.skipped += 1
        default: break
        }
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
