int add(int a, int b)
{
	return a + b;
}

/* entry 1 of a table that somebody wrote by hand */
static const int value_1 = 1;
/* entry 2 of a table that somebody wrote by hand */
static const int value_2 = 2;
/* entry 3 of a table that somebody wrote by hand */
static const int value_3 = 3;
/* entry 4 of a table that somebody wrote by hand */
static const int value_4 = 4;
/* entry 5 of a table that somebody wrote by hand */
static const int value_5 = 5;
/* entry 6 of a table that somebody wrote by hand */
static const int value_6 = 6;
/* entry 7 of a table that somebody wrote by hand */
static const int value_7 = 7;
/* entry 8 of a table that somebody wrote by hand */
static const int value_8 = 8;
/* entry 9 of a table that somebody wrote by hand */
static const int value_9 = 9;
/* entry 10 of a table that somebody wrote by hand */
static const int value_10 = 10;
/* entry 11 of a table that somebody wrote by hand */
static const int value_11 = 11;
/* entry 12 of a table that somebody wrote by hand */
static const int value_12 = 12;
/* entry 13 of a table that somebody wrote by hand */
static const int value_13 = 13;
/* entry 14 of a table that somebody wrote by hand */
static const int value_14 = 14;
/* entry 15 of a table that somebody wrote by hand */
static const int value_15 = 15;
/* entry 16 of a table that somebody wrote by hand */
static const int value_16 = 16;
/* entry 17 of a table that somebody wrote by hand */
static const int value_17 = 17;
/* entry 18 of a table that somebody wrote by hand */
static const int value_18 = 18;
/* entry 19 of a table that somebody wrote by hand */
static const int value_19 = 19;
/* entry 20 of a table that somebody wrote by hand */
static const int value_20 = 20;
/* entry 21 of a table that somebody wrote by hand */
static const int value_21 = 21;
/* entry 22 of a table that somebody wrote by hand */
static const int value_22 = 22;
/* entry 23 of a table that somebody wrote by hand */
static const int value_23 = 23;
/* entry 24 of a table that somebody wrote by hand */
static const int value_24 = 24;
/* entry 25 of a table that somebody wrote by hand */
static const int value_25 = 25;
/* entry 26 of a table that somebody wrote by hand */
static const int value_26 = 26;
/* entry 27 of a table that somebody wrote by hand */
static const int value_27 = 27;
/* entry 28 of a table that somebody wrote by hand */
static const int value_28 = 28;
/* entry 29 of a table that somebody wrote by hand */
static const int value_29 = 29;
/* entry 30 of a table that somebody wrote by hand */
static const int value_30 = 30;
