import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/** Reads records as a consumer does, with Avro's own decoder, by the schemas of the registry whose URL is given. */
public class AvroConsumer {
    private static final Map<Integer, Schema> SCHEMAS = new HashMap<>();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    /** For each line of standard input, a record in base64, what it holds as JSON; an error if Java would write it otherwise. */
    public static void main(String[] arguments) throws Exception {
        BufferedReader records = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = records.readLine(); line != null; line = records.readLine()) {
            byte[] record = Base64.getDecoder().decode(line);
            if (record[0] != 0) throw new IllegalArgumentException("unknown magic byte");
            Schema schema = schema(arguments[0], ByteBuffer.wrap(record, 1, 4).getInt());
            byte[] data = Arrays.copyOfRange(record, 5, record.length);
            BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(data, null);
            Object value = new GenericDatumReader<>(schema).read(null, decoder);
            if (!decoder.isEnd()) throw new IllegalStateException("bytes are left over");
            ByteArrayOutputStream again = new ByteArrayOutputStream();
            BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(again, null);
            new GenericDatumWriter<>(schema).write(value, encoder);
            boolean same = Arrays.equals(again.toByteArray(), data);
            out.println("{\"same\":" + same + ",\"value\":" + GenericData.get().toString(value) + "}");
        }
    }

    private static Schema schema(String url, int id) throws Exception {
        if (!SCHEMAS.containsKey(id)) {
            HttpRequest asked = HttpRequest.newBuilder(URI.create(url + "/schemas/ids/" + id)).build();
            String answer = CLIENT.send(asked, HttpResponse.BodyHandlers.ofString()).body();
            String schema = new ObjectMapper().readTree(answer).get("schema").asText();
            SCHEMAS.put(id, new Schema.Parser().parse(schema));
        }
        return SCHEMAS.get(id);
    }
}
