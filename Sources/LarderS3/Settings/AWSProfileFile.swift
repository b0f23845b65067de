import Foundation

/// A file of AWS profiles: sections in brackets, `name = value` in them, and under a `name =`
/// without a value more of them, indented.
/// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
struct AWSProfileFile {
    private static let sizeLimit = 1 << 20

    /// Values by section and name; what is indented has the name `outer.inner`.
    private var sections: [String: [String: String]] = [:]

    /// Nothing if there is no such file.
    ///
    /// - Throws: ``S3SettingsError`` if it cannot be read.
    init(path: String) throws(S3SettingsError) {
        self.init(text: try Self.text(of: path))
    }

    private static func text(of path: String) throws(S3SettingsError) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else {
            if access(path, F_OK) != 0 { return "" }
            throw S3SettingsError("\(path): \(String(cString: strerror(errno)))")
        }
        let data: Data
        do {
            data = try file.read(upToCount: sizeLimit + 1) ?? Data()
        } catch {
            throw S3SettingsError("\(path): it cannot be read")
        }
        guard data.count <= sizeLimit else {
            throw S3SettingsError("\(path): longer than \(sizeLimit) bytes")
        }
        return String(decoding: data, as: UTF8.self)
    }

    init(text: String) {
        var section = ""
        var outer = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let content = line.trimmingPrefix { $0.isWhitespace }
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[" {
                let name = content.dropFirst().prefix { $0 != "]" }
                section = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                outer = ""
                continue
            }
            guard let equals = content.firstIndex(of: "=") else { continue }
            let name = content[..<equals].trimmingWhitespace.lowercased()
            let value = content[content.index(after: equals)...].trimmingWhitespace
            let isInner = line.first?.isWhitespace == true && !outer.isEmpty
            if !isInner { outer = value.isEmpty ? name : "" }
            sections[section, default: [:]][isInner ? "\(outer).\(name)" : name] = value
        }
    }

    func has(_ section: String) -> Bool { sections[section] != nil }

    func value(_ name: String, in section: String) -> String? {
        sections[section]?[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What a section has values for.
    func names(in section: String) -> Set<String> { Set(sections[section, default: [:]].keys) }
}

extension StringProtocol {
    fileprivate var trimmingWhitespace: String { trimmingCharacters(in: .whitespaces) }
}
