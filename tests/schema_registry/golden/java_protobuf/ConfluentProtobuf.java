import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.confluent.connect.protobuf.ProtobufData;
import io.confluent.connect.protobuf.ProtobufDataConfig;
import io.confluent.kafka.schemaregistry.protobuf.ProtobufSchema;
import io.confluent.kafka.serializers.protobuf.ProtobufSchemaAndValue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;

/** Confluent's ProtobufData, with the text of the schema, the name of the message and zeros before the bytes. */
public class ConfluentProtobuf implements Converter {
    private ProtobufData data;

    @Override
    public void configure(Map<String, ?> properties, boolean isKey) {
        data = new ProtobufData(new ProtobufDataConfig(properties));
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        ProtobufSchemaAndValue made = data.fromConnectData(schema, value);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(made.getSchema().canonicalString().getBytes(StandardCharsets.UTF_8));
        out.write(0);
        Message message = (Message) made.getValue();
        if (message == null) return out.toByteArray();
        out.writeBytes(message.getDescriptorForType().getFullName().getBytes(StandardCharsets.UTF_8));
        out.write(0);
        out.writeBytes(message.toByteArray());
        return out.toByteArray();
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] bytes) {
        int first = 0;
        while (bytes[first] != 0) first++;
        int second = first + 1;
        while (bytes[second] != 0) second++;
        String text = new String(bytes, 0, first, StandardCharsets.UTF_8);
        String name = new String(bytes, first + 1, second - first - 1, StandardCharsets.UTF_8);
        ProtobufSchema schema = new ProtobufSchema(text).copy(name);
        Descriptor descriptor = schema.toDescriptor();
        try {
            Message message = DynamicMessage.parseFrom(descriptor, Arrays.copyOfRange(bytes, second + 1, bytes.length));
            return data.toConnectData(schema, message);
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }
}
