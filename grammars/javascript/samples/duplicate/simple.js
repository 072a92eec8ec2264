import fs from "fs";
import fs from "fs";

fs.close();
