// Every construct that the queries of Java name.
package org.example;

import java.util.List;
import java.util.Map;

/* One annotation with an element. */
@interface Mark {
    int level() default 1;
    int LIMIT = 3;
}

interface Shape {
    int SIDES = 4;
    int area();
    int area(int scale);
}

enum Colour {
    RED,
    GREEN(2);

    private int depth;
    Colour() {}
    Colour(int depth) {}
}

record Point(int x, int y) {
    Point {
        check(x);
    }
}

@Mark(level = 2)
@Deprecated
class Store implements Shape {
    private int count = 0, total;
    private String text = "text \"quoted\" {";
    private char mark = '(';
    private Store next;

    Store() {
        int count = 1;
        this.count = count;
    }

    Store(int count) {
        this.count = count;
    }

    @Override
    public int area() {
        return count;
    }

    @Override
    public int area(int scale) {
        return count * scale;
    }

    int walk(Store store, List<Store> stores) throws Exception {
        store.count = 1;
        store.text = "a";
        store.mark = 'a';
        store.open = true;
        store.shut = false;
        store.next = null;
        store.last = store;
        store.total = this.total;
        store = store.next;
        store = store.next;
        count += 1;
        count += 1;
        System.out.println(count);
        System.out.println(count);
        for (int i = 0; i < count; i++) {
            if (i == 1) {
                continue;
            }
            break;
        }
        for (int i = 0; i < count; i++) count--;
        for (Store each : stores) {
            int local = each.count;
            each.count = local;
        }
        while (count > 0) {
            int local = 1;
            count -= local;
        }
        do {
            count--;
        } while (count > 0);
        switch (count) {
            case 1:
                int local = 1;
                return local;
            default:
                throw new Exception("count");
        }
    }

    int kind(int x) {
        int kind = switch (x) {
            case 1 -> 2;
            case 2 -> {
                yield 3;
            }
            default -> 4;
        };
        synchronized (this) {
            count = kind;
        }
        try {
            open();
        } catch (RuntimeException error) {
            close();
        } catch (Exception error) {
            close();
        }
        try (Reader reader = open()) {
            reader.read();
        }
        return kind;
    }
}
