import Foundation

/// A strict parser of Prometheus' text format, version 0.0.4. It rejects deviations that a
/// collector might tolerate.
struct Exposition {
    struct Invalid: Error, CustomStringConvertible {
        let line: String
        let description: String
    }

    struct Sample: Equatable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    private(set) var samples: [Sample] = []
    private(set) var names: [String] = []

    init(_ text: String) throws {
        guard text.isEmpty || text.hasSuffix("\n") else {
            throw Invalid(line: "", description: "the last line has no end")
        }
        var help: String?
        var type: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            func fail(_ reason: String) -> Invalid {
                Invalid(line: String(line), description: "\(reason): \(line)")
            }
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
            if line.hasPrefix("# HELP ") {
                guard words.count == 4, !words[3].isEmpty else { throw fail("no help") }
                help = String(words[2])
                guard !names.contains(help ?? "") else { throw fail("a metric in two places") }
            } else if line.hasPrefix("# TYPE ") {
                guard words.count == 4, words[2] == help ?? "", words[3] == "gauge" else {
                    throw fail("no type, or without help")
                }
                type = help
                names.append(String(words[2]))
            } else {
                guard let sample = Self.sample(line) else { throw fail("no sample") }
                guard sample.name == type else { throw fail("a sample without its type") }
                guard
                    !samples.contains(where: {
                        ($0.name, $0.labels) == (sample.name, sample.labels)
                    })
                else { throw fail("a sample twice") }
                samples.append(sample)
            }
        }
    }

    func value(_ name: String, command: String? = nil) -> Double? {
        samples.first { $0.name == name && $0.labels["command"] == command }?.value
    }

    /// `name{label="value",…} number`.
    private static func sample(_ line: Substring) -> Sample? {
        var rest = line[...]
        func takeName() -> String? {
            let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            guard let first = name.first, !first.isNumber else { return nil }
            rest = rest.dropFirst(name.count)
            return String(name)
        }
        func take(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let name = takeName(), take("{") else { return nil }
        var labels: [String: String] = [:]
        repeat {
            guard let label = takeName(), labels[label] == nil, take("="), take("\"") else {
                return nil
            }
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                switch rest.popFirst() {
                case "\\": value.append("\\")
                case "\"": value.append("\"")
                case "n": value.append("\n")
                default: return nil
                }
            }
            labels[label] = value
        } while take(",")
        guard take("}"), take(" "), rest.allSatisfy({ $0.isNumber || "-.".contains($0) }),
            let value = Double(rest)
        else { return nil }
        return Sample(name: name, labels: labels, value: value)
    }
}
