/// The formats that manifests are written in, told apart by content.
public enum ManifestFormat: String, Sendable, CaseIterable {
    /// A property list in XML, with or without Apple's document type.
    case xmlPlist = "xml-plist"
    /// A property list that begins with `bplist00`.
    case binaryPlist = "binary-plist"
    /// One JSON document (RFC 8259).
    case json
    /// One JSON object a line.
    case jsonLines = "json-lines"
    /// One URL a line, as wget and aria2 take it.
    case urlList = "url-list"
}
