import java.util.List;
import java.util.Map;
import java.util.Map;
