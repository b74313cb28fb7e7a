import io.confluent.connect.avro.AvroData;
import io.confluent.connect.avro.AvroDataConfig;
import io.confluent.kafka.serializers.NonRecordContainer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/** Confluent's AvroData, with the text of the Avro schema and a zero in front of the bytes instead of a registry. */
public class ConfluentAvro implements Converter {
    private AvroData data;

    @Override
    public void configure(Map<String, ?> properties, boolean isKey) {
        data = new AvroData(new AvroDataConfig(properties));
    }

    @Override
    public byte[] fromConnectData(String topic, org.apache.kafka.connect.data.Schema schema, Object value) {
        Schema made = data.fromConnectSchema(schema);
        Object given = data.fromConnectData(schema, value);
        Object datum = given instanceof NonRecordContainer ? ((NonRecordContainer) given).getValue() : given;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(made.toString().getBytes(StandardCharsets.UTF_8));
        out.write(0);
        try {
            BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
            if (given != null) new GenericDatumWriter<>(made).write(datum, encoder);
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
        return out.toByteArray();
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] bytes) {
        int end = 0;
        while (bytes[end] != 0) end++;
        Schema schema = new Schema.Parser().parse(new String(bytes, 0, end, StandardCharsets.UTF_8));
        byte[] rest = Arrays.copyOfRange(bytes, end + 1, bytes.length);
        try {
            Object datum = new GenericDatumReader<>(schema).read(null, DecoderFactory.get().binaryDecoder(rest, null));
            return data.toConnectData(schema, datum);
        } catch (StackOverflowError why) { // a map of maps, both with keys that are no texts
            throw new DataException("StackOverflowError");
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }
}
