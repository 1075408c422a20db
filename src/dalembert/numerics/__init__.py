"""Native building blocks without mechanics: functions by address, small dense linear algebra."""
