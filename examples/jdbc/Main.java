// Memories from Java with the PostgreSQL JDBC driver alone. DATABASE_URL says where, as postgres://USER:PASSWORD@HOST:PORT/DATABASE.

import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.util.PSQLException;

public class Main {
    /** One string out of a JSON object; an application has a JSON library for that. */
    static String field(String json, String key) {
        Matcher found = Pattern.compile("\"" + key + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
        return found.find() ? found.group(1) : null;
    }

    /** What the server says to programs: the DETAIL is one JSON object. */
    static String detail(SQLException error) {
        return ((PSQLException) error).getServerErrorMessage().getDetail();
    }

    /** The answer of a call. setObject sends strings as varchar and UUIDs as uuid; JSON needs a cast, `?::jsonb`. */
    static String call(Connection connection, String sql, Object... arguments) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < arguments.length; i++) {
                statement.setObject(i + 1, arguments[i]);
            }
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static final String CREATE =
            "select me.memory_create(content => ?, tree => ?, name => ?, meta => ?::jsonb)";
    static final String UPDATE = "select me.memory_update(id => ?, version_hash => ?, content => ?)";

    static void openTicket(Connection connection, String title) throws SQLException {
        String memory = call(connection, CREATE, title, "share/app/tickets", null, null);
        try (PreparedStatement insert =
                connection.prepareStatement("insert into tickets (title, memory_id) values (?, ?)")) {
            insert.setString(1, title);
            insert.setObject(2, UUID.fromString(field(memory, "id")));
            insert.executeUpdate();
        }
    }

    public static void main(String[] arguments) throws Exception {
        URI url = URI.create(System.getenv("DATABASE_URL"));
        String[] login = url.getUserInfo().split(":");
        String address = "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath();
        try (Connection connection = DriverManager.getConnection(address, login[0], login[1])) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("create table tickets"
                        + " (id int generated always as identity primary key, title text not null, memory_id uuid)");
            }
            String made = call(connection, CREATE, "Deploys happen on Tuesdays.", "share/app", "deploy-day",
                    "{\"topic\": \"deploy\", \"priority\": 5}");
            UUID id = UUID.fromString(field(made, "id"));
            String got = call(connection, "select me.memory_get_by_path(?)", "share/app/deploy-day");
            check(got.equals(made), got);

            // me.search gives rows. The operator ? of jsonb is written ?? here.
            String search = "select id, score from me.search(fulltext => ?, \"limit\" => 5) where meta ?? 'topic'";
            try (PreparedStatement statement = connection.prepareStatement(search)) {
                statement.setString(1, "deploys");
                try (ResultSet rows = statement.executeQuery()) {
                    check(rows.next() && id.equals(rows.getObject("id", UUID.class)), "found");
                    check(rows.getDouble("score") > 0 && !rows.next(), "one row");
                }
            }

            // A name that is taken.
            try {
                call(connection, CREATE, "Other.", "share/app", "deploy-day", null);
                throw new AssertionError("the name was taken");
            } catch (SQLException error) {
                check(error.getSQLState().equals("23505"), error.getSQLState());
                check("CONFLICT".equals(field(detail(error), "code")), detail(error));
                check("path".equals(field(detail(error), "reason")), detail(error));
            }

            connection.setAutoCommit(false);

            // A version that somebody else has changed meanwhile: read, merge, try again. The savepoint keeps the
            // rest of the transaction.
            Savepoint before = connection.setSavepoint();
            String now = null;
            try {
                call(connection, UPDATE, id, "0".repeat(32), "Deploys happen on Wednesdays.");
                throw new AssertionError("the version hash was stale");
            } catch (SQLException error) {
                check(error.getSQLState().equals("55000"), error.getSQLState());
                check("version".equals(field(detail(error), "reason")), detail(error));
                now = field(detail(error), "versionHash");
                connection.rollback(before);
            }
            String updated = call(connection, UPDATE, id, now, "Deploys happen on Wednesdays.");
            check(Pattern.compile("\"version\": ?2\\b").matcher(updated).find(), updated);
            connection.commit();

            // One transaction for a row of one's own and a memory: both or neither.
            openTicket(connection, "The pump leaks.");
            connection.commit();
            openTicket(connection, "Never seen.");
            connection.rollback();
        }
        System.out.println("ok");
    }
}
