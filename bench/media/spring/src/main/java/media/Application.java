// SPDX-License-Identifier: MPL-2.0
package media;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Serves the files of the folder in the property media.folder: /region/NAME and /transfer/NAME. */
@SpringBootApplication
public class Application {
    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }
}
