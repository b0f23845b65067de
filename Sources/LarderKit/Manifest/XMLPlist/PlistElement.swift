/// The elements of an XML property list. The root is the first one.
enum PlistElement: String {
    case plist
    case dict
    case key
    case string
    case array
    case integer
    case real
    case `true`
    case `false`
    case data
    case date
    case unknown = ""

    /// All elements, in the order of their names in ``names``.
    static let allCases: [PlistElement] = [
        .plist, .dict, .key, .string, .array, .integer, .real, .true, .false, .data, .date,
    ]
    static let names = allCases.map(\.rawValue)
}
