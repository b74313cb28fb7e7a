package org.apache.kafka.common.utils.internals;

import java.nio.ByteBuffer;

/** Stands for the class that Kafka 4.1 has in another package. */
public class ByteUtils {
    public static int sizeOfVarint(int value) {
        return org.apache.kafka.common.utils.ByteUtils.sizeOfVarint(value);
    }

    public static void writeVarint(int value, ByteBuffer buffer) {
        org.apache.kafka.common.utils.ByteUtils.writeVarint(value, buffer);
    }

    public static int readVarint(ByteBuffer buffer) {
        return org.apache.kafka.common.utils.ByteUtils.readVarint(buffer);
    }
}
