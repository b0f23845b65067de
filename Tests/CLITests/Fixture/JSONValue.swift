import Foundation

/// A JSON value of any type.
enum JSONValue: Decodable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Decodes JSON Lines.
    static func lines(_ text: some DataProtocol) throws -> [[String: JSONValue]] {
        try text.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode([String: JSONValue].self, from: Data($0))
        }
    }

    /// Whether the value has a type, by its name in the documentation.
    func isOf(_ type: String) -> Bool {
        switch (self, type) {
        case (.boolean, "boolean"), (.integer, "integer"), (.integer, "number"),
            (.number, "number"), (.string, "string"), (.array, "array"), (.object, "object"):
            true
        default: false
        }
    }

    var object: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    var integer: Int? {
        if case .integer(let value) = self { value } else { nil }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }
}
