import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Answers each line of standard input, a question in JSON, with a line: what a class of Kafka Connect makes of it. */
public class KafkaConnect {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // for logging
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
        }
        answers.flush();
    }

    /** What only the harness throws: the question itself is wrong. */
    private static class WrongQuestion extends Error {
        WrongQuestion(Exception why) {
            super(why);
        }
    }

    private static JsonNode answer(JsonNode question) throws Exception {
        ObjectNode answer = MAPPER.createObjectNode();
        String at = "configure";
        try {
            Object made = Class.forName(question.get("class").asText()).getDeclaredConstructor().newInstance();
            Map<String, String> properties = texts(question.path("properties"));
            String operation = question.get("operation").asText();
            if (operation.equals("transform") || operation.equals("predicate")) {
                ((Configurable) made).configure(properties);
                at = "apply";
                return transformed(made, record(question.get("record")));
            }
            if (made instanceof Converter && !operation.endsWith("header")) {
                ((Converter) made).configure(properties, question.path("key").asBoolean());
            } else {
                properties.putIfAbsent("converter.type", "header");
                ((HeaderConverter) made).configure(properties);
            }
            at = operation;
            return converted(made, operation, question);
        } catch (WrongQuestion why) {
            throw new IllegalArgumentException(question.toString(), why);
        } catch (Exception why) {
            answer.put("error", why.getClass().getSimpleName());
            answer.put("message", why.getMessage());
            answer.put("at", at);
        }
        return answer;
    }

    @SuppressWarnings("unchecked")
    private static JsonNode transformed(Object made, SourceRecord record) {
        ObjectNode answer = MAPPER.createObjectNode();
        if (made instanceof Predicate) {
            answer.put("chosen", ((Predicate<SourceRecord>) made).test(record));
        } else {
            SourceRecord result = ((Transformation<SourceRecord>) made).apply(record);
            answer.set("record", result == null ? null : shown(result));
        }
        return answer;
    }

    private static JsonNode converted(Object made, String operation, JsonNode question) {
        ObjectNode answer = MAPPER.createObjectNode();
        String topic = question.path("topic").asText("topic"), name = question.path("name").asText("name");
        Schema schema = operation.startsWith("from") ? schema(question.get("schema")) : null;
        switch (operation) {
            case "from_connect_data":
                answer.put("bytes", text(((Converter) made).fromConnectData(topic, schema, given(schema, question))));
                break;
            case "from_connect_header":
                HeaderConverter header = (HeaderConverter) made;
                answer.put("bytes", text(header.fromConnectHeader(topic, name, schema, given(schema, question))));
                break;
            case "to_connect_data":
                return shown(((Converter) made).toConnectData(topic, bytes(question.path("bytes"))));
            case "to_connect_header":
                return shown(((HeaderConverter) made).toConnectHeader(topic, name, bytes(question.path("bytes"))));
            default:
                throw new WrongQuestion(new IllegalArgumentException(operation));
        }
        return answer;
    }

    private static Object given(Schema schema, JsonNode question) {
        return value(schema, question.get("value"));
    }

    private static SourceRecord record(JsonNode node) {
        Schema keySchema = schema(node.get("key_schema")), valueSchema = schema(node.get("value_schema"));
        JsonNode partition = node.path("partition"), timestamp = node.path("timestamp");
        SourceRecord record = new SourceRecord(
            Map.of(), Map.of(), node.path("topic").asText("topic"), partition.isInt() ? partition.intValue() : null,
            keySchema, value(keySchema, node.get("key")), valueSchema, value(valueSchema, node.get("value")),
            timestamp.isNumber() ? timestamp.longValue() : null);
        for (JsonNode header : node.path("headers")) {
            Schema schema = schema(header.get(1));
            record.headers().add(header.get(0).asText(), new SchemaAndValue(schema, value(schema, header.get(2))));
        }
        return record;
    }

    private static ObjectNode shown(SourceRecord record) {
        ObjectNode node = MAPPER.createObjectNode();
        node.put("topic", record.topic());
        if (record.kafkaPartition() != null) node.put("partition", record.kafkaPartition());
        if (record.keySchema() != null) node.set("key_schema", shown(record.keySchema()));
        if (record.key() != null) node.set("key", shown(record.key()));
        if (record.valueSchema() != null) node.set("value_schema", shown(record.valueSchema()));
        if (record.value() != null) node.set("value", shown(record.value()));
        if (record.timestamp() != null) node.put("timestamp", record.timestamp());
        ArrayNode headers = MAPPER.createArrayNode();
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(shown(header.schema())).add(shown(header.value()));
        }
        if (!headers.isEmpty()) node.set("headers", headers);
        return node;
    }

    private static ObjectNode shown(SchemaAndValue made) {
        ObjectNode node = MAPPER.createObjectNode();
        node.set("schema", made == null ? null : shown(made.schema()));
        node.set("value", made == null ? null : shown(made.value()));
        return node;
    }

    private static Map<String, String> texts(JsonNode node) {
        Map<String, String> made = new LinkedHashMap<>();
        node.fields().forEachRemaining(one -> made.put(one.getKey(), one.getValue().isNull() ? null : one.getValue().asText()));
        return made;
    }

    private static boolean absent(JsonNode node) {
        return node == null || node.isMissingNode() || node.isNull();
    }

    private static Schema schema(JsonNode node) {
        try {
            return absent(node) ? null : built(node);
        } catch (RuntimeException why) {
            throw new WrongQuestion(why);
        }
    }

    private static Schema built(JsonNode node) {
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText().toUpperCase());
        SchemaBuilder builder = switch (type) {
            case ARRAY -> SchemaBuilder.array(built(node.get("values")));
            case MAP -> SchemaBuilder.map(built(node.get("keys")), built(node.get("values")));
            default -> new SchemaBuilder(type);
        };
        if (node.path("optional").asBoolean()) builder.optional();
        if (node.has("name")) builder.name(node.get("name").asText());
        if (node.has("version")) builder.version(node.get("version").intValue());
        if (node.has("doc")) builder.doc(node.get("doc").asText());
        if (node.has("parameters")) builder.parameters(texts(node.get("parameters")));
        for (JsonNode field : node.path("fields")) {
            builder.field(field.get("name").asText(), built(field.get("schema")));
        }
        if (node.has("default")) builder.defaultValue(made(builder, node.get("default")));
        return builder.build();
    }

    private static JsonNode shown(Schema schema) {
        if (schema == null) return MAPPER.nullNode();
        ObjectNode node = MAPPER.createObjectNode();
        node.put("type", schema.type().getName());
        if (schema.isOptional()) node.put("optional", true);
        if (schema.name() != null) node.put("name", schema.name());
        if (schema.version() != null) node.put("version", schema.version());
        if (schema.doc() != null) node.put("doc", schema.doc());
        if (schema.parameters() != null && !schema.parameters().isEmpty()) {
            ObjectNode parameters = node.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields()) {
                fields.addObject().put("name", field.name()).set("schema", shown(field.schema()));
            }
        }
        if (schema.type() == Schema.Type.MAP) node.set("keys", shown(schema.keySchema()));
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) {
            node.set("values", shown(schema.valueSchema()));
        }
        if (schema.defaultValue() != null) node.set("default", shown(schema.defaultValue()));
        return node;
    }

    private static Object value(Schema schema, JsonNode node) {
        try {
            return made(schema, node);
        } catch (RuntimeException why) {
            throw new WrongQuestion(why);
        }
    }

    private static Object made(Schema schema, JsonNode node) {
        if (absent(node)) return null;
        Map.Entry<String, JsonNode> tagged = node.fields().next();
        JsonNode inner = tagged.getValue();
        switch (tagged.getKey()) {
            case "int8": return (byte) inner.intValue();
            case "int16": return (short) inner.intValue();
            case "int32": return inner.intValue();
            case "int64": return inner.longValue();
            case "float32": return Float.valueOf(inner.asText());
            case "float64": return Double.valueOf(inner.asText());
            case "boolean": return inner.booleanValue();
            case "string": return inner.asText();
            case "bytes": return bytes(inner);
            case "decimal": return new BigDecimal(inner.asText());
            case "date": return new Date(inner.longValue());
            case "array":
                List<Object> list = new ArrayList<>();
                inner.forEach(one -> list.add(made(part(schema, Schema.Type.ARRAY), one)));
                return list;
            case "map":
                Map<Object, Object> map = new LinkedHashMap<>();
                inner.forEach(pair -> map.put(made(null, pair.get(0)), made(part(schema, Schema.Type.MAP), pair.get(1))));
                return map;
            case "struct":
                Struct struct = new Struct(schema);
                inner.forEach(pair -> {
                    Schema of = schema.field(pair.get(0).asText()).schema();
                    // Java leaves a field unset where a default stands for null.
                    if (absent(pair.get(1)) && of.defaultValue() != null) return;
                    struct.put(pair.get(0).asText(), made(of, pair.get(1)));
                });
                return struct;
            default: throw new IllegalArgumentException("no tag of a value: " + tagged.getKey());
        }
    }

    private static Schema part(Schema schema, Schema.Type type) {
        return schema == null || schema.type() != type ? null : schema.valueSchema();
    }

    private static JsonNode shown(Object value) {
        if (value == null) return MAPPER.nullNode();
        ObjectNode node = MAPPER.createObjectNode();
        if (value instanceof Byte) return node.put("int8", (Byte) value);
        if (value instanceof Short) return node.put("int16", (Short) value);
        if (value instanceof Integer) return node.put("int32", (Integer) value);
        if (value instanceof Long) return node.put("int64", (Long) value);
        if (value instanceof Float) return node.put("float32", value.toString());
        if (value instanceof Double) return node.put("float64", value.toString());
        if (value instanceof Boolean) return node.put("boolean", (Boolean) value);
        if (value instanceof String) return node.put("string", (String) value);
        if (value instanceof byte[]) return node.put("bytes", text((byte[]) value));
        if (value instanceof ByteBuffer) return node.put("bytes", text(((ByteBuffer) value).duplicate()));
        if (value instanceof BigDecimal) return node.put("decimal", ((BigDecimal) value).toPlainString());
        if (value instanceof Date) return node.put("date", ((Date) value).getTime());
        if (value instanceof List) {
            ArrayNode list = node.putArray("array");
            ((List<?>) value).forEach(one -> list.add(shown(one)));
        } else if (value instanceof Map) {
            ArrayNode pairs = node.putArray("map");
            ((Map<?, ?>) value).forEach((key, one) -> pairs.addArray().add(shown(key)).add(shown(one)));
        } else if (value instanceof Struct) {
            ArrayNode pairs = node.putArray("struct");
            for (Field field : ((Struct) value).schema().fields()) {
                pairs.addArray().add(field.name()).add(shown(((Struct) value).getWithoutDefault(field.name())));
            }
        } else {
            throw new IllegalStateException("no tag for a " + value.getClass());
        }
        return node;
    }

    private static byte[] bytes(JsonNode node) {
        return absent(node) ? null : Base64.getDecoder().decode(node.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static String text(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return text(bytes);
    }
}
