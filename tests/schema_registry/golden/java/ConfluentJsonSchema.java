import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.confluent.connect.json.JsonSchemaData;
import io.confluent.connect.json.JsonSchemaDataConfig;
import io.confluent.kafka.schemaregistry.json.JsonSchema;
import io.confluent.kafka.schemaregistry.json.jackson.Jackson;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.everit.json.schema.loader.SchemaLoader;
import org.json.JSONObject;

/** Confluent's JsonSchemaData, with the text of the JSON Schema and a zero in front of the bytes, not an id. */
public class ConfluentJsonSchema implements Converter {
    private final ObjectMapper mapper = Jackson.newObjectMapper();
    private JsonSchemaData data;

    @Override
    public void configure(Map<String, ?> properties, boolean isKey) {
        data = new JsonSchemaData(new JsonSchemaDataConfig(properties));
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        JsonNode made = data.fromConnectData(schema, value);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(data.fromConnectSchema(schema).rawSchema().toString().getBytes(StandardCharsets.UTF_8));
        out.write(0);
        try {
            if (made != null) out.writeBytes(mapper.writeValueAsBytes(made));
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
        return out.toByteArray();
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] bytes) {
        int end = 0;
        while (bytes[end] != 0) end++;
        JSONObject text = new JSONObject(new String(bytes, 0, end, StandardCharsets.UTF_8));
        SchemaLoader loader = SchemaLoader.builder().schemaJson(text).draftV7Support().useDefaults(true).build();
        Schema schema = data.toConnectSchema(new JsonSchema(loader.load().build()));
        try {
            return new SchemaAndValue(
                schema, data.toConnectData(schema, mapper.readTree(Arrays.copyOfRange(bytes, end + 1, bytes.length))));
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }
}
