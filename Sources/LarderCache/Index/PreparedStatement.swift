import Foundation
import GRDB
import GRDBSQLite
import LarderCore

/// A statement without GRDB's wrappers, which take longer than SQLite itself. Must not begin or end
/// transactions.
package struct PreparedStatement {
    private let statement: Statement
    @usableFromInline package let raw: OpaquePointer

    fileprivate init(_ db: Database, _ sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
        raw = statement.sqliteStatement
        sqlite3_reset(raw)
    }

    @inlinable package func run<each Value: SQLiteValue>(_ values: repeat each Value) throws {
        try bind(repeat each values)
        try finish()
    }

    /// Runs a frequent statement. Faster than a parameter pack, which Swift does not specialize.
    @inlinable package func run(_ bind: (inout Parameters) -> Void) throws {
        reset()
        var parameters = Parameters(raw)
        bind(&parameters)
        try check(parameters.code)
        try finish()
    }

    package struct Parameters {
        @usableFromInline let raw: OpaquePointer
        @usableFromInline var position: CInt = 0
        @usableFromInline var code = SQLITE_OK

        @usableFromInline init(_ raw: OpaquePointer) { self.raw = raw }

        @inlinable package mutating func bind(_ value: some SQLiteValue) {
            position += 1
            let code = value.bind(to: raw, at: position)
            if code != SQLITE_OK { self.code = code }
        }
    }

    @inlinable package func firstInteger<each Value: SQLiteValue>(
        _ values: repeat each Value
    ) throws -> Int64? {
        try bind(repeat each values)
        defer { reset() }
        var row = try next()
        return row?.integer()
    }

    @inlinable package func bind<each Value: SQLiteValue>(_ values: repeat each Value) throws {
        reset()
        var position: CInt = 0
        for value in repeat each values {
            position += 1
            try check(value.bind(to: raw, at: position))
        }
    }

    @usableFromInline
    func check(_ code: CInt) throws { guard code == SQLITE_OK else { throw error(code) } }

    @usableFromInline func finish() throws {
        defer { reset() }
        while try step() {}
    }

    @inlinable package func next() throws -> RowReader? { try step() ? RowReader(raw) : nil }

    @usableFromInline package func step() throws -> Bool {
        switch sqlite3_step(raw) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw error(code)
        }
    }

    @inlinable package func forEach<each Value: SQLiteValue>(
        _ values: repeat each Value, body: (inout RowReader) throws -> Void
    ) throws {
        try bind(repeat each values)
        defer { reset() }
        while var row = try next() { try body(&row) }
    }

    @inlinable package func rows<each Value: SQLiteValue, Row>(
        _ values: repeat each Value, as read: (inout RowReader) throws -> Row
    ) throws -> [Row] {
        var rows: [Row] = []
        try forEach(repeat each values) { rows.append(try read(&$0)) }
        return rows
    }

    /// Releases the locks that unread rows hold.
    package func reset() { sqlite3_reset(raw) }

    private func error(_ code: CInt) -> DatabaseError {
        let connection = sqlite3_db_handle(raw)
        defer { sqlite3_reset(raw) }
        return DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
            message: String(cString: sqlite3_errmsg(connection)), sql: statement.sql)
    }
}

extension Database {
    package func prepared(_ sql: String) throws -> PreparedStatement {
        try PreparedStatement(self, sql)
    }
}

/// A reader of a row's columns. It reads each column once, in order.
package struct RowReader {
    private let raw: OpaquePointer
    private var position: CInt = -1

    @usableFromInline init(_ raw: OpaquePointer) { self.raw = raw }

    private mutating func advance() -> CInt {
        position += 1
        return position
    }

    package var isNull: Bool { sqlite3_column_type(raw, position + 1) == SQLITE_NULL }
    package mutating func skip() { position += 1 }

    package mutating func optional<Value>(
        _ read: (inout RowReader) throws -> Value
    ) rethrows -> Value? {
        if !isNull { return try read(&self) }
        skip()
        return nil
    }

    package mutating func integer() -> Int64 { sqlite3_column_int64(raw, advance()) }
    package mutating func optionalInteger() -> Int64? { optional { $0.integer() } }

    package mutating func requireInteger(
        in range: ClosedRange<Int64> = .min ... .max
    ) throws -> Int64 {
        let isInteger = sqlite3_column_type(raw, position + 1) == SQLITE_INTEGER
        let value = integer()
        guard isInteger, range.contains(value) else { throw corrupt("a row has an invalid number") }
        return value
    }

    package mutating func bool() -> Bool { sqlite3_column_int(raw, advance()) != 0 }

    package mutating func double() -> Double { sqlite3_column_double(raw, advance()) }

    package mutating func requireTime() throws -> Double {
        let type = sqlite3_column_type(raw, position + 1)
        let value = double()
        guard type == SQLITE_FLOAT || type == SQLITE_INTEGER, abs(value) <= Self.longestTime
        else { throw corrupt("a row has an invalid time") }
        return value
    }

    package mutating func requireDate() throws -> Date {
        Date(timeIntervalSince1970: try requireTime())
    }

    /// The maximum distance from 1970 in seconds, about 30,000 years.
    package static let longestTime = 1e12

    package mutating func text() -> String? { value().text }

    package mutating func requireText() throws -> String {
        let isText = sqlite3_column_type(raw, position + 1) == SQLITE_TEXT
        guard let text = text(), isText else { throw corrupt("a row has invalid text") }
        return text
    }

    package mutating func data() -> Data? { optional { $0.value().withBytes { Data($0) } } }
    package mutating func digest() -> Digest? { value().withBytes { Digest(bytes: $0) } }

    package mutating func requireDigest() throws -> Digest {
        if let digest = digest() { return digest }
        throw corrupt("a row has an invalid digest")
    }

    /// Returns the next column, valid until the statement's next step.
    package mutating func value() -> Column { Column(raw: raw, position: advance()) }

    private func corrupt(_ message: String) -> DatabaseError {
        .corruption(message, sql: sqlite3_sql(raw).map { String(cString: $0) })
    }

    package struct Column: SQLiteValue {
        fileprivate let raw: OpaquePointer
        fileprivate let position: CInt

        package func bind(to statement: OpaquePointer, at place: CInt) -> CInt {
            sqlite3_bind_value(statement, place, sqlite3_column_value(raw, position))
        }

        package var text: String? {
            guard let bytes = sqlite3_column_text(raw, position) else { return nil }
            let count = Int(sqlite3_column_bytes(raw, position))
            return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }

        package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
            let start = sqlite3_column_blob(raw, position)
            let count = Int(sqlite3_column_bytes(raw, position))
            return body(UnsafeRawBufferPointer(start: start, count: count))
        }
    }
}

package protocol SQLiteValue { func bind(to statement: OpaquePointer, at position: CInt) -> CInt }

/// SQLITE_TRANSIENT, which Swift does not import.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

// These types use GRDB's own bindings.
extension Int: SQLiteValue {}
extension Int64: SQLiteValue {}
extension Bool: SQLiteValue {}
extension Double: SQLiteValue {}

extension String: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        // The length is passed, because GRDB's own binding ends at a null character.
        withCString { sqlite3_bind_text(statement, position, $0, CInt(utf8.count), transient) }
    }
}

extension Data: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else {
                return sqlite3_bind_zeroblob(statement, position, 0)
            }
            return sqlite3_bind_blob(statement, position, start, CInt(bytes.count), transient)
        }
    }
}

extension Digest: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        withUnsafeBytes {
            sqlite3_bind_blob(statement, position, $0.baseAddress, CInt(Self.byteCount), transient)
        }
    }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        guard let self else { return sqlite3_bind_null(statement, position) }
        return self.bind(to: statement, at: position)
    }
}
