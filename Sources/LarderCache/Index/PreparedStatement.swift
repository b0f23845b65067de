import Foundation
import GRDB
import GRDBSQLite
import LarderCore

/// A statement that is run for every entry of a manifest: its values are bound and read by SQLite's
/// own functions, without GRDB's boxes around each, which take longer than SQLite does.
///
/// Not for statements that begin or end transactions, which GRDB would not notice.
package struct PreparedStatement {
    private let statement: Statement
    @usableFromInline package let raw: OpaquePointer

    /// Takes it from the connection's cache of statements.
    package init(_ db: Database, _ sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
        raw = statement.sqliteStatement
        sqlite3_reset(raw)
    }

    /// Runs it to its end, with these values.
    @inlinable
    package func run<each Value: SQLiteValue>(_ values: repeat each Value) throws {
        try bind(repeat each values)
        try finish()
    }

    /// The same for what is run a million times: Swift makes no code of its own for each list of
    /// values, as it does for each value.
    @inlinable
    package func run(_ bind: (inout Parameters) -> Void) throws {
        reset()
        var parameters = Parameters(raw)
        bind(&parameters)
        try check(parameters.code)
        try finish()
    }

    /// Values for a statement's parameters, in their order.
    package struct Parameters {
        @usableFromInline let raw: OpaquePointer
        @usableFromInline var position: CInt = 0
        @usableFromInline var code = SQLITE_OK

        @usableFromInline
        init(_ raw: OpaquePointer) { self.raw = raw }

        @inlinable
        package mutating func bind(_ value: some SQLiteValue) {
            position += 1
            let code = value.bind(to: raw, at: position)
            if code != SQLITE_OK { self.code = code }
        }
    }

    /// Runs it until its first row, and reads an integer from that; nil without a row.
    @inlinable
    package func firstInteger<each Value: SQLiteValue>(
        _ values: repeat each Value
    ) throws -> Int64? {
        try bind(repeat each values)
        defer { reset() }
        return try step() ? integer(0) : nil
    }

    /// Binds values to its parameters, in their order; it begins anew.
    @inlinable
    package func bind<each Value: SQLiteValue>(_ values: repeat each Value) throws {
        reset()
        var position: CInt = 0
        for value in repeat each values {
            position += 1
            try check(value.bind(to: raw, at: position))
        }
    }

    @usableFromInline
    package func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw error(code) }
    }

    @usableFromInline
    package func finish() throws {
        defer { sqlite3_reset(raw) }
        while try step() {}
    }

    /// Goes to the next row; false if there is none.
    package func step() throws -> Bool {
        switch sqlite3_step(raw) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw error(code)
        }
    }

    /// Its rows with these values.
    @inlinable
    package func rows<each Value: SQLiteValue, Row>(
        _ values: repeat each Value, as row: (PreparedStatement) throws -> Row
    ) throws -> [Row] {
        try bind(repeat each values)
        defer { reset() }
        var rows: [Row] = []
        while try step() { rows.append(try row(self)) }
        return rows
    }

    /// Lets go of what is locked for the rows that were not read.
    package func reset() { sqlite3_reset(raw) }

    private func error(_ code: CInt) -> DatabaseError {
        let connection = sqlite3_db_handle(raw)
        defer { sqlite3_reset(raw) }
        return DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
            message: String(cString: sqlite3_errmsg(connection)), sql: statement.sql)
    }

    // MARK: Columns of the row

    /// How many columns a row has.
    package var columnCount: Int { Int(sqlite3_column_count(raw)) }

    /// Whether a column is NULL.
    package func isNull(_ column: CInt) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

    /// Whether a column is text.
    package func isText(_ column: CInt) -> Bool { sqlite3_column_type(raw, column) == SQLITE_TEXT }

    /// A column that must be text.
    ///
    /// - Throws: `DatabaseError`, `SQLITE_CORRUPT` if it is not, as of the following ones.
    package func requireText(_ column: CInt) throws -> String {
        guard isText(column), let text = text(column) else { throw corrupt("a row has no text") }
        return text
    }

    /// A column that must be an integer within bounds.
    package func requireInteger(
        _ column: CInt, in range: ClosedRange<Int64> = .min ... .max
    ) throws -> Int64 {
        let value = integer(column)
        guard sqlite3_column_type(raw, column) == SQLITE_INTEGER, range.contains(value) else {
            throw corrupt("a row has no number of its kind")
        }
        return value
    }

    /// A column that must be a time, in seconds since 1970: a number that a date can have.
    package func requireTime(_ column: CInt) throws -> Double {
        let value = double(column)
        guard [SQLITE_FLOAT, SQLITE_INTEGER].contains(sqlite3_column_type(raw, column)),
            abs(value) <= Self.longestTime
        else { throw corrupt("a row has no time") }
        return value
    }

    /// Some 30,000 years.
    package static let longestTime = 1e12

    private func corrupt(_ message: String) -> DatabaseError {
        .corruption(message, sql: statement.sql)
    }

    /// A column as an integer; NULL is 0.
    package func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(raw, column) }

    /// A column as an integer; nil if it is NULL.
    package func optionalInteger(_ column: CInt) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// A column as a truth value; NULL is false.
    package func bool(_ column: CInt) -> Bool { sqlite3_column_int(raw, column) != 0 }

    /// A column as a number; NULL is 0.
    package func double(_ column: CInt) -> Double { sqlite3_column_double(raw, column) }

    /// A column as it is, to be bound to another statement of the connection.
    package func value(_ column: CInt) -> Column { Column(raw: raw, column: column) }

    /// Lends the bytes of a column; none if it is NULL.
    package func withBytes<Value>(
        _ column: CInt, _ body: (UnsafeRawBufferPointer) -> Value
    ) -> Value {
        let start = sqlite3_column_blob(raw, column)
        return body(
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column))))
    }

    /// A column of the row that a statement is at.
    package struct Column: SQLiteValue {
        fileprivate let raw: OpaquePointer
        fileprivate let column: CInt

        package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
            sqlite3_bind_value(statement, position, sqlite3_column_value(raw, column))
        }
    }

    /// A column as text; nil if it is NULL.
    package func text(_ column: CInt) -> String? {
        guard let bytes = sqlite3_column_text(raw, column) else { return nil }
        let count = Int(sqlite3_column_bytes(raw, column))
        return String(
            decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// A column as bytes; nil if it is NULL.
    package func data(_ column: CInt) -> Data? {
        guard !isNull(column) else { return nil }
        guard let bytes = sqlite3_column_blob(raw, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(raw, column)))
    }

    /// A column that must be a digest.
    ///
    /// - Throws: `DatabaseError`, `SQLITE_CORRUPT` if it is none.
    package func requireDigest(_ column: CInt) throws -> Digest {
        if let digest = digest(column) { return digest }
        throw corrupt("a row has no digest")
    }

    /// A column as a digest; nil if it is none.
    package func digest(_ column: CInt) -> Digest? {
        guard let bytes = sqlite3_column_blob(raw, column) else { return nil }
        return Digest(
            bytes: UnsafeRawBufferPointer(
                start: bytes, count: Int(sqlite3_column_bytes(raw, column))))
    }
}

/// What a ``PreparedStatement`` takes for a parameter.
package protocol SQLiteValue {
    func bind(to statement: OpaquePointer, at position: CInt) -> CInt
}

/// SQLite is to copy what it is given (sqlite3_bind_blob(3): SQLITE_TRANSIENT, a macro that C has
/// alone).
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        sqlite3_bind_int64(statement, position, self)
    }
}

extension Int: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        sqlite3_bind_int64(statement, position, Int64(self))
    }
}

extension Bool: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        sqlite3_bind_int(statement, position, self ? 1 : 0)
    }
}

extension Double: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        sqlite3_bind_double(statement, position, self)
    }
}

extension String: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        // A null pointer, which an empty buffer may have, would bind NULL.
        if isEmpty { return sqlite3_bind_text(statement, position, "", 0, transient) }
        var text = self
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(statement, position, $0.baseAddress, CInt($0.count), transient)
            }
        }
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
            sqlite3_bind_blob(
                statement, position, $0.baseAddress, CInt(Self.byteCount), transient)
        }
    }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    package func bind(to statement: OpaquePointer, at position: CInt) -> CInt {
        guard let self else { return sqlite3_bind_null(statement, position) }
        return self.bind(to: statement, at: position)
    }
}
