import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Answers cases.json with what the converters, transformations and predicates of Kafka Connect do. */
public class RecordKafkaConnect {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        JsonNode cases = MAPPER.readTree(new File(arguments[0]));
        ObjectNode answers = MAPPER.createObjectNode();
        for (String role : new String[] {"converters", "transformations", "predicates"}) {
            ArrayNode list = answers.putArray(role);
            for (JsonNode one : cases.get(role)) {
                list.add(answer(role, one));
            }
        }
        System.out.println(MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(answers));
    }

    private static JsonNode answer(String role, JsonNode one) {
        ObjectNode answer = MAPPER.createObjectNode();
        try {
            Object made = Class.forName(one.get("class").asText()).getDeclaredConstructor().newInstance();
            Map<String, String> config = texts(one.path("config"));
            if (role.equals("converters")) {
                Converter converter = (Converter) made;
                converter.configure(config, false);
                byte[] bytes = converter.fromConnectData("topic", null, value(one.get("value")));
                answer.put("bytes", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
            } else if (role.equals("transformations")) {
                ((Configurable) made).configure(config);
                @SuppressWarnings("unchecked")
                SourceRecord result = ((Transformation<SourceRecord>) made).apply(record(one.get("record")));
                if (result == null) {
                    answer.put("dropped", true);
                } else {
                    answer.put("topic", result.topic());
                    answer.set("key", MAPPER.valueToTree(result.key()));
                    answer.set("value", MAPPER.valueToTree(result.value()));
                }
            } else {
                ((Configurable) made).configure(config);
                @SuppressWarnings("unchecked")
                boolean chosen = ((Predicate<SourceRecord>) made).test(record(one.get("record")));
                answer.put("chosen", chosen);
            }
        } catch (Exception error) {
            answer.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
        }
        return answer;
    }

    private static SourceRecord record(JsonNode node) {
        JsonNode partition = node.path("partition"), timestamp = node.path("timestamp");
        SourceRecord record = new SourceRecord(
            Map.of(), Map.of(), node.get("topic").asText(), partition.isInt() ? partition.intValue() : null,
            null, value(node.path("key")), null, value(node.path("value")),
            timestamp.isNumber() ? timestamp.longValue() : null);
        for (JsonNode header : node.path("headers")) {
            record.headers().addString(header.asText(), "x");
        }
        return record;
    }

    private static Map<String, String> texts(JsonNode node) {
        Map<String, String> made = new LinkedHashMap<>();
        node.fields().forEachRemaining(field -> made.put(field.getKey(), field.getValue().asText()));
        return made;
    }

    /** JSON as Java's values; what JSON cannot say is an object with one name that begins with $. */
    private static Object value(JsonNode node) {
        if (node == null || node.isMissingNode() || node.isNull()) return null;
        if (node.isTextual()) return node.asText();
        if (node.isBoolean()) return node.booleanValue();
        if (node.isIntegralNumber()) return node.longValue();
        if (node.isNumber()) return node.doubleValue();
        if (node.isArray()) {
            List<Object> made = new ArrayList<>();
            node.forEach(one -> made.add(value(one)));
            return made;
        }
        if (node.has("$bytes")) return Base64.getDecoder().decode(node.get("$bytes").asText());
        if (node.has("$double")) return Double.valueOf(node.get("$double").asText());
        Map<Object, Object> made = new LinkedHashMap<>();
        if (node.has("$pairs")) {
            node.get("$pairs").forEach(pair -> made.put(value(pair.get(0)), value(pair.get(1))));
        } else {
            node.fields().forEachRemaining(field -> made.put(field.getKey(), value(field.getValue())));
        }
        return made;
    }
}
