"""What Kafka Connect's own classes answer, and the notation of questions and answers."""
