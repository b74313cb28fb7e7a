import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.StringConverter;

/**
 * Converts the rows of converter_columns.py with Kafka Connect's converters: for each line of standard input, the name
 * of a format, once, and answers with the processor time of this thread for a row, in nanoseconds, and with all bytes.
 */
public class ConverterRate {
    private static final Schema SCHEMA = SchemaBuilder.struct()
        .field("id", Schema.INT64_SCHEMA)
        .field("quantity", Schema.INT32_SCHEMA)
        .field("price", Schema.FLOAT64_SCHEMA)
        .field("active", Schema.BOOLEAN_SCHEMA)
        .field("name", Schema.STRING_SCHEMA)
        .field("note", Schema.OPTIONAL_STRING_SCHEMA)
        .field("city", Schema.STRING_SCHEMA)
        .field("at", Timestamp.SCHEMA)
        .build();

    public static void main(String[] arguments) {
        List<Struct> rows = new ArrayList<>();
        for (int at = 0; at < Integer.parseInt(arguments[0]); at++) {
            rows.add(row(at));
        }
        Map<String, Converter> converters = Map.of(
            "json", json(false), "json with schema", json(true), "string", new StringConverter());
        converters.get("string").configure(Map.of(), false);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Scanner asked = new Scanner(System.in, StandardCharsets.UTF_8);
        while (asked.hasNextLine()) {
            String format = asked.nextLine();
            Converter converter = converters.get(format);
            long bytes = 0;
            long began = threads.getCurrentThreadCpuTime();
            for (Struct one : rows) {
                bytes += format.equals("string")
                    ? converter.fromConnectData("t", Schema.STRING_SCHEMA, one.get("name")).length
                    : converter.fromConnectData("t", SCHEMA, one).length;
            }
            long spent = threads.getCurrentThreadCpuTime() - began;
            System.out.println(spent / rows.size() + " " + bytes);
        }
    }

    private static Converter json(boolean enable) {
        JsonConverter made = new JsonConverter();
        made.configure(Map.of("schemas.enable", enable), false);
        return made;
    }

    private static Struct row(int at) {
        return new Struct(SCHEMA)
            .put("id", (long) at)
            .put("quantity", at % 100)
            .put("price", at / 8.0)
            .put("active", at % 2 == 0)
            .put("name", "item number " + at)
            .put("note", at % 5 == 0 ? null : "it is \"" + at + "\"")
            .put("city", "Zürich " + at % 50)
            .put("at", new Date(1_767_225_600_000L + at));
    }
}
